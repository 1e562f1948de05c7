/**
 * KV saved in the child's memory: evictable copies of entries (dropped least recently used first when over the byte cap) and the
 * suffixes of preempted calls, which count against the cap but are never dropped.
 */
import type { EntryId } from "@topas/core";

export interface SavedKv {
  readonly state: Uint8Array;
  /** Positions below this come from the shared prefix entry and are not in `state`. */
  readonly shared: number;
  readonly prefix: { readonly entry: EntryId; readonly tokens: Int32Array } | null;
  /** Token ids of all positions, shared ones included. */
  readonly tokens: Int32Array;
}

export class HostTier {
  readonly capBytes: number;
  /** In order of use, oldest first. */
  readonly #entries = new Map<EntryId, SavedKv>();
  #entryBytes = 0;
  #pinnedBytes = 0;

  constructor(capBytes: number) {
    this.capBytes = capBytes;
  }

  get bytes(): number {
    return this.#entryBytes + this.#pinnedBytes;
  }

  ids(): EntryId[] {
    return [...this.#entries.keys()];
  }

  get(entry: EntryId): SavedKv | undefined {
    return this.#entries.get(entry);
  }

  /** Marks as just used. */
  touch(entry: EntryId): void {
    const saved = this.#entries.get(entry);
    if (saved === undefined) return;
    this.#entries.delete(entry);
    this.#entries.set(entry, saved);
  }

  /** Stores a copy, dropping older ones. null: it does not fit even alone (nothing dropped); else the entries dropped for it. */
  put(entry: EntryId, saved: SavedKv): EntryId[] | null {
    this.delete(entry);
    const dropped = this.#makeRoom(saved.state.length);
    if (dropped === null) return null;
    this.#entries.set(entry, saved);
    this.#entryBytes += saved.state.length;
    return dropped;
  }

  delete(entry: EntryId): boolean {
    const saved = this.#entries.get(entry);
    if (saved === undefined) return false;
    this.#entries.delete(entry);
    this.#entryBytes -= saved.state.length;
    return true;
  }

  /** Reserves room for a preempted call's suffix. Same answers as {@link put}; give it back with {@link unpin}. */
  pin(bytes: number): EntryId[] | null {
    const dropped = this.#makeRoom(bytes);
    if (dropped !== null) this.#pinnedBytes += bytes;
    return dropped;
  }

  unpin(bytes: number): void {
    this.#pinnedBytes -= bytes;
  }

  #makeRoom(bytes: number): EntryId[] | null {
    if (this.#pinnedBytes + bytes > this.capBytes) return null;
    const dropped: EntryId[] = [];
    for (const oldest of this.#entries.keys()) {
      if (this.bytes + bytes <= this.capBytes) break;
      this.delete(oldest);
      dropped.push(oldest);
    }
    return dropped;
  }
}
