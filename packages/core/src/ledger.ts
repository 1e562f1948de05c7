import { MOST_KEYS } from "./bounded.ts";
import { toBlocks } from "./config.ts";
import type { EntryId } from "./events.ts";
import { heldTokens, type EntryState, type RequestState, type State } from "./state.ts";

/** Free cells of the physical ledger; Infinity when B is unknown. Negative only when the engine contradicts our books. */
export function freeTokens(state: State): number {
  const { budgetTokens, residentPrefix, residentSession, runningKv, pendingFree } = state.ledger;
  return budgetTokens === null ? Infinity : budgetTokens - residentPrefix - residentSession - runningKv - pendingFree;
}

/** Room of the promise ledger: B less pinned prefixes, promises and what is not yet free again. */
export function roomTokens(state: State): number {
  const { budgetTokens, pinned, promised, pendingFree } = state.ledger;
  return budgetTokens === null ? Infinity : budgetTokens - pinned - promised - pendingFree;
}

export function freeSlots(state: State): number {
  return Math.max(0, state.config.maxRunning - state.running.size);
}

/** Sets the cells a running request holds, from its own progress. */
export function recountCells(state: State, request: RequestState): void {
  const cells = toBlocks(state.config, heldTokens(request));
  state.ledger.runningKv += cells - request.cells;
  request.cells = cells;
}

export function releaseCells(state: State, request: RequestState): void {
  state.ledger.runningKv -= request.cells;
  request.cells = 0;
}

export function setPromise(state: State, request: RequestState, tokens: number): void {
  state.ledger.promised += tokens - request.promisedTokens;
  request.promisedTokens = tokens;
}

export function setEntryCells(state: State, entry: EntryState, cells: number): void {
  if (entry.kind === "prefix") state.ledger.residentPrefix += cells - entry.cells;
  else state.ledger.residentSession += cells - entry.cells;
  entry.cells = cells;
}

export function pin(state: State, entry: EntryState): void {
  if (entry.users === 0) state.ledger.pinned += entry.tokens;
  entry.users += 1;
}

/** Last user gone: unpinned. A prefix that only its requests were filling is then absent again. */
export function unpin(state: State, entry: EntryState): void {
  entry.users -= 1;
  if (entry.users > 0) return;
  state.ledger.pinned -= entry.tokens;
  if (entry.phase === "loading" && entry.loadFor === "requests") makeAbsent(state, entry, entry.onHost);
}

export function makeResident(state: State, entry: EntryState): void {
  if (entry.phase === "evicting") state.ledger.pendingFree -= entry.tokens;
  const sat = entry.phase !== "resident" && entry.kind === "session" && entry.base !== null;
  entry.phase = "resident";
  entry.loadFor = null;
  setEntryCells(state, entry, entry.tokens);
  if (sat) changeSessions(state, entry.base, 1);
  if (state.ledger.budgetTokens === null && state.entries.size > MOST_KEYS) forgetOldest(state);
}

/** Without a budget nothing is ever evicted by plan: the oldest idle entry is taken for gone. */
function forgetOldest(state: State): void {
  for (const entry of state.entries.values()) {
    if (entry.phase !== "resident" || entry.refs > 0 || entry.sessions > 0) continue;
    return makeAbsent(state, entry, false);
  }
}

export function makeAbsent(state: State, entry: EntryState, onHost: boolean): void {
  if (entry.phase === "evicting") state.ledger.pendingFree -= entry.tokens;
  if (entry.phase === "resident" && entry.kind === "session") changeSessions(state, entry.base, -1);
  setEntryCells(state, entry, 0);
  entry.phase = "absent";
  entry.loadFor = null;
  entry.onHost = onHost;
  forgetIfUnused(state, entry);
}

/** Our evict command is under way: the cells wait in pendingFree until the engine confirms. */
export function beginEvict(state: State, entry: EntryState): void {
  if (entry.kind === "session") changeSessions(state, entry.base, -1);
  setEntryCells(state, entry, 0);
  state.ledger.pendingFree += entry.tokens;
  entry.phase = "evicting";
}

export function forgetIfUnused(state: State, entry: EntryState): void {
  if (entry.phase !== "absent" || entry.onHost || entry.users > 0 || entry.refs > 0) return;
  if (state.entries.get(entry.id) === entry) state.entries.delete(entry.id);
  if (entry.task === null) return;
  const own = state.sessionsOf.get(entry.task);
  if (own?.delete(entry) === true && own.size === 0) state.sessionsOf.delete(entry.task);
}

export function addEntry(state: State, entry: EntryState): void {
  state.entries.set(entry.id, entry);
  if (entry.task === null) return;
  const own = state.sessionsOf.get(entry.task);
  if (own === undefined) state.sessionsOf.set(entry.task, new Set([entry]));
  else own.add(entry);
}

export function touch(state: State, entry: EntryState): void {
  entry.lastUseSeconds = state.nowSeconds;
  entry.lastUseSeq = state.nextSeq++;
}

function changeSessions(state: State, base: EntryId | null, by: number): void {
  const prefix = base === null ? undefined : state.entries.get(base);
  if (prefix !== undefined) prefix.sessions += by;
}
