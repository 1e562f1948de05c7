import type { EntryId } from "@topas/core";
import type { Call } from "../engine/call.ts";
import type { Machine } from "../engine/machine.ts";

/** A KV entry under the policy's control: a shared prefix, or the private KV of a session between rounds. */
export interface KvEntry {
  readonly id: EntryId;
  readonly tokens: number;
  /** Tokens computed so far while filling. */
  filled: number;
  cells: number;
  phase: "filling" | "copying" | "resident";
  /** The running call that computes it. */
  filler: Call | null;
  users: number;
}

/** Resident entries and their host copies. Every change of cells goes through `resize`. */
export class EntryStore {
  readonly entries = new Map<EntryId, KvEntry>();
  /** Host copies, oldest use first, with their tokens. */
  readonly host = new Map<EntryId, number>();
  cells = 0;
  private readonly machine: Machine;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  get(id: EntryId | null): KvEntry | undefined {
    return id === null ? undefined : this.entries.get(id);
  }

  add(id: EntryId, tokens: number, phase: KvEntry["phase"]): KvEntry {
    const entry: KvEntry = { id, tokens, filled: 0, cells: 0, phase, filler: null, users: 0 };
    this.entries.set(id, entry);
    return entry;
  }

  /** Cells for the first `tokens` of the entry. */
  resize(entry: KvEntry, tokens: number): void {
    const cells = this.machine.roundUp(tokens);
    this.cells += cells - entry.cells;
    entry.cells = cells;
  }

  remove(entry: KvEntry): void {
    this.resize(entry, 0);
    this.entries.delete(entry.id);
  }

  /** True: the host holds it; it is now the copy used last. */
  touchHost(id: EntryId): boolean {
    const tokens = this.host.get(id);
    if (tokens === undefined) return false;
    this.host.delete(id);
    this.host.set(id, tokens);
    return true;
  }

  /** Remembers a host copy within `capacityTokens`; returns the ids dropped for it. */
  keepOnHost(entry: KvEntry, capacityTokens: number): EntryId[] {
    const dropped: EntryId[] = [];
    if (entry.tokens > capacityTokens) return dropped;
    this.host.delete(entry.id);
    let used = entry.tokens;
    for (const tokens of this.host.values()) used += tokens;
    for (const [id, tokens] of this.host) {
      if (used <= capacityTokens) break;
      this.host.delete(id);
      used -= tokens;
      dropped.push(id);
    }
    this.host.set(entry.id, entry.tokens);
    return dropped;
  }

  check(): string[] {
    const broken: string[] = [];
    let cells = 0;
    for (const entry of this.entries.values()) {
      cells += entry.cells;
      if (entry.users < 0) broken.push(`entry ${entry.id} has ${entry.users} users`);
      if (entry.phase === "resident" && entry.cells !== this.machine.roundUp(entry.tokens))
        broken.push(`entry ${entry.id} is resident in part`);
    }
    if (cells !== this.cells) broken.push(`entry cells are ${this.cells}, recomputed ${cells}`);
    return broken;
  }
}
