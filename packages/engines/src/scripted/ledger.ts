/**
 * The scripted engine's cells. One budget B: free + prefix entries + session entries + private cells of calls = B, checked by
 * `check()` after every step. Prefix cells count once, however many calls share them.
 */
import type { EntryId } from "@topas/core";
import { EngineError } from "../engine.ts";

export interface PrefixEntry {
  readonly tokens: number;
  /** Cells computed so far; equal to `tokens` when calls can use it. Cells are allocated at once. */
  filled: number;
  /** Cells computed rather than copied from the host. */
  computed: number;
  /** Calls running on it. */
  users: number;
  /** The call it is computed for; null: nobody's, a command asked. */
  readonly owner: string | null;
}

export interface SessionEntry {
  /** Whole sequence, prefix included. */
  readonly sequence: Int32Array;
  readonly prefix: string | null;
  /** Private cells: the sequence without its prefix. */
  readonly cells: number;
}

export type HostCopy =
  | { readonly kind: "prefix"; readonly tokens: number }
  | { readonly kind: "session"; readonly session: SessionEntry };

export class Ledger {
  readonly budget: number;
  readonly hostBudget: number;
  readonly prefixes = new Map<EntryId, PrefixEntry>();
  readonly sessions = new Map<EntryId, SessionEntry>();
  /** Private cells of running calls. */
  readonly privates = new Map<string, number>();
  /** Host copies of entries, and swapped-out private tokens of preempted calls. */
  readonly host = new Map<EntryId, HostCopy>();
  readonly swapped = new Map<string, number>();
  #free: number;

  constructor(budget: number, hostBudget: number) {
    this.budget = budget;
    this.hostBudget = hostBudget;
    this.#free = budget;
  }

  get free(): number {
    return this.#free;
  }

  addPrefix(id: EntryId, tokens: number, owner: string | null): PrefixEntry {
    const entry: PrefixEntry = { tokens, filled: 0, computed: 0, users: 0, owner };
    this.#free -= tokens;
    this.prefixes.set(id, entry);
    return entry;
  }

  addSession(id: EntryId, entry: SessionEntry): void {
    this.drop(id);
    this.#free -= entry.cells;
    this.sessions.set(id, entry);
  }

  /** Sets a running call's private cells. */
  hold(request: string, cells: number): void {
    this.#free += (this.privates.get(request) ?? 0) - cells;
    if (cells === 0) this.privates.delete(request);
    else this.privates.set(request, cells);
  }

  /** Frees a resident entry's cells; returns how many. */
  drop(id: EntryId): number {
    const cells = this.prefixes.get(id)?.tokens ?? this.sessions.get(id)?.cells ?? 0;
    this.prefixes.delete(id);
    this.sessions.delete(id);
    this.#free += cells;
    return cells;
  }

  hostFree(): number {
    let used = 0;
    for (const copy of this.host.values()) used += copy.kind === "prefix" ? copy.tokens : copy.session.cells;
    for (const tokens of this.swapped.values()) used += tokens;
    return this.hostBudget - used;
  }

  /** The device lost everything. */
  reset(): void {
    for (const map of [this.prefixes, this.sessions, this.privates, this.host, this.swapped]) map.clear();
    this.#free = this.budget;
  }

  /** @throws EngineError `invariant` when the books do not add up. */
  check(): void {
    let sum = this.#free;
    for (const entry of this.prefixes.values()) {
      sum += entry.tokens;
      if (entry.filled > entry.tokens || entry.users < 0 || (entry.users > 0 && entry.filled < entry.tokens))
        throw broken("prefix in a wrong state");
    }
    for (const entry of this.sessions.values()) sum += entry.cells;
    for (const cells of this.privates.values()) sum += cells;
    if (sum !== this.budget) throw broken(`cells add up to ${sum} of ${this.budget}`);
    if (this.#free < 0) throw broken(`${-this.#free} cells more than there are`);
    if (this.hostFree() < 0) throw broken("host tier over its budget");
  }
}

function broken(message: string): EngineError {
  return new EngineError("invariant", message);
}
