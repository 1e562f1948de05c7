/** Who gets cells: admission from the engine's own queue, prefix loading, and what goes when the engine runs short. */
import type { EntryId } from "@topas/core";
import type { Job } from "./job.ts";
import type { ScriptedState } from "./state.ts";
import { SCRIPTED_KV_BYTES } from "./state.ts";

/** First come, first served, never overtaking: order is the scheduler's business. */
export function admitJobs(state: ScriptedState): void {
  for (let job = state.queue[0]; job !== undefined && admit(state, job); job = state.queue[0]);
}

/** Starts one call, or begins to load its prefix. True: it left the queue. */
export function admit(state: ScriptedState, job: Job): boolean {
  const { ledger, options } = state;
  if (state.running().length >= options.maxRunning) return false;
  const entry = job.prefix === null ? null : ledger.prefixes.get(job.prefix);
  const reuse = job.cached === null ? reusable(state, job) : null;
  const swapped = ledger.swapped.get(job.call.id) ?? 0;
  const prefixCells = entry === undefined ? job.prefixTokens : 0;
  const own = Math.max(options.reserve ? job.worst : job.target + 1, swapped);
  if (!evictFor(state, prefixCells + own - (reuse?.resident ?? 0), [job.prefix, reuse === null ? null : job.session]))
    return false;
  if (entry === undefined && job.prefix !== null) {
    job.paysPrefix = !beginLoad(state, job.prefix, job.prefixTokens, job.call.id);
    if (job.paysPrefix) return false;
  } else if (entry !== null && entry !== undefined && entry.filled < entry.tokens) return false;
  state.queue.splice(state.queue.indexOf(job), 1);
  job.state = "running";
  if (job.prefix !== null) ledger.prefixes.get(job.prefix)!.users += 1;
  ledger.swapped.delete(job.call.id);
  if (job.cached === null) {
    job.cached = (job.paysPrefix ? 0 : job.prefixTokens) + (reuse?.tokens ?? 0);
    if (reuse !== null && job.session !== null) takeSession(state, job.session);
  }
  state.hold(job, swapped > 0 ? swapped : (reuse?.tokens ?? 0));
  return true;
}

/** Private tokens of the call's session that its prompt repeats; at least one prompt token is left to compute. */
function reusable(state: ScriptedState, job: Job): { tokens: number; resident: number } | null {
  if (job.session === null) return null;
  const copy = state.ledger.host.get(job.session);
  const resident = state.ledger.sessions.get(job.session);
  const session = resident ?? (copy?.kind === "session" ? copy.session : undefined);
  if (session === undefined || session.prefix !== job.prefix) return null;
  const limit = Math.min(session.sequence.length, job.tokens.length - 1);
  let common = 0;
  while (common < limit && session.sequence[common] === job.tokens[common]) common++;
  const tokens = common - job.prefixTokens;
  return tokens <= 0 ? null : { tokens, resident: resident === undefined ? 0 : resident.cells };
}

/** The call continues in its session's cells: the entry is gone from residency, and so is its host copy. */
function takeSession(state: ScriptedState, session: EntryId): void {
  const cells = state.ledger.drop(session);
  const copy = state.ledger.host.get(session);
  state.ledger.host.delete(session);
  if (cells === 0 && copy?.kind === "session") {
    const tokens = copy.session.cells;
    state.emit({ kind: "loaded", entry: session, tokens, computedTokens: 0, bytes: tokens * SCRIPTED_KV_BYTES, ms: 0 });
  }
  state.emit({ kind: "taken", entry: session });
}

/** Allocates a prefix. True: it came back whole from the host; false: it has to be computed. */
export function beginLoad(state: ScriptedState, id: EntryId, tokens: number, owner: string | null): boolean {
  const entry = state.ledger.addPrefix(id, tokens, owner);
  if (!state.ledger.host.has(id)) return false;
  entry.filled = tokens;
  state.emit({ kind: "loaded", entry: id, tokens, computedTokens: 0, bytes: tokens * SCRIPTED_KV_BYTES, ms: 0 });
  return true;
}

/** Computes loading prefixes, each charged to the call that asked first; returns what is left of the step's prefill tokens. */
export function loadPrefixes(state: ScriptedState, chunk: number): number {
  let left = chunk;
  for (const [id, entry] of state.ledger.prefixes) {
    const count = Math.min(entry.tokens - entry.filled, left);
    if (count === 0) continue;
    entry.filled += count;
    entry.computed += count;
    left -= count;
    const owner = entry.owner === null ? undefined : state.jobs.get(entry.owner);
    if (owner !== undefined) {
      owner.computed += count;
      if (owner.cached !== null) owner.redone += count;
    }
    if (entry.filled < entry.tokens) continue;
    state.emit({ kind: "loaded", entry: id, tokens: entry.tokens, computedTokens: entry.computed, bytes: 0, ms: 0 });
    state.settle(id, true);
  }
  if (left < chunk) admitJobs(state);
  return left;
}

/** Cells that are free and not promised to running calls. */
export function available(state: ScriptedState): number {
  if (!state.options.reserve) return state.ledger.free;
  let promised = 0;
  for (const job of state.running()) promised += job.worst - job.cells;
  return state.ledger.free - promised;
}

/** Evicts idle entries, unnamed ones first, then in rank order, until `cells` are available. Evicts nothing if that cannot do. */
export function evictFor(state: ScriptedState, cells: number, spare: readonly (EntryId | null)[]): boolean {
  const { ledger, order } = state;
  if (available(state) >= cells) return true;
  const size = new Map<EntryId, number>();
  for (const [id, entry] of ledger.sessions) size.set(id, entry.cells);
  for (const [id, entry] of ledger.prefixes) if (entry.users === 0 && entry.filled === entry.tokens) size.set(id, entry.tokens);
  for (const id of spare) if (id !== null) size.delete(id);
  const victims = [...size.keys()].toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  let short = cells - available(state);
  const chosen: EntryId[] = [];
  for (const id of victims) {
    if (short <= 0) break;
    chosen.push(id);
    short -= size.get(id) ?? 0;
  }
  if (short > 0) return false;
  for (const id of chosen) state.evict(id, true);
  return true;
}

/** Room for a running call to grow: evict, then preempt the youngest call, if need be this one (only without reservations). */
export function makeRoom(state: ScriptedState, cells: number, job: Job): boolean {
  if (state.options.reserve) return state.ledger.free >= cells;
  while (!evictFor(state, cells, [])) {
    const running = state.running();
    const victim = running.at(-1);
    if (victim === undefined || running.length === 1) return false;
    state.suspend(victim);
    victim.state = "preempted";
    state.emit({ kind: "preempted", request: victim.call.id, by: "engine", keptTokens: 0, bytes: 0 });
    if (victim === job) return false;
  }
  return true;
}
