import type { EntryId, PreemptMode } from "../events.ts";
import { usableBudgetTokens } from "../config.ts";
import { makeAbsent, makeResident, releaseCells, touch, setEntryCells } from "../ledger.ts";
import { count, type State } from "../state.ts";
import { backToQueue } from "./request.ts";

export function applyLoaded(state: State, id: EntryId, computedTokens: number): void {
  const entry = state.entries.get(id);
  if (entry === undefined) return count(state, "unknownEntries");
  count(state, "computedPrefixTokens", Math.max(0, computedTokens));
  if (entry.phase === "resident") return;
  makeResident(state, entry);
  touch(state, entry);
}

/** A prefix that running requests need stays theirs to fill; one that nobody uses is absent again. */
export function applyLoadFailed(state: State, id: EntryId): void {
  const entry = state.entries.get(id);
  if (entry === undefined || entry.phase !== "loading") return;
  count(state, "loadsFailed");
  if (entry.users === 0) makeAbsent(state, entry, false);
  else entry.onHost = false;
}

/** Observed, by our command or on the engine's own account. Sessions on a prefix leave with it. */
export function applyEvicted(state: State, id: EntryId, keptOnHost: boolean): void {
  const entry = state.entries.get(id);
  if (entry === undefined || (entry.phase === "absent" && entry.cells === 0)) return count(state, "unknownEntries");
  if (entry.users > 0) {
    // Its users are admitted but not placed yet, so the engine saw nobody on it: it comes back for them.
    count(state, "evictedWhilePinned");
    if (entry.phase !== "resident") return;
    setEntryCells(state, entry, 0);
    entry.phase = "loading";
    entry.loadFor = "requests";
    entry.onHost = keptOnHost;
    return;
  }
  if (entry.sessions > 0)
    for (const other of state.entries.values())
      if (other.base === id && other.phase === "resident") {
        count(state, "sessionsLostWithPrefix");
        makeAbsent(state, other, false);
      }
  makeAbsent(state, entry, keptOnHost && entry.kind === "prefix");
}

export function applyHostDropped(state: State, id: EntryId): void {
  const entry = state.entries.get(id);
  if (entry === undefined) return;
  entry.onHost = false;
  if (entry.phase === "absent") makeAbsent(state, entry, false);
}

/** by "us": the cells are free now. by "engine": forced, its credit is cleared uncharged. */
export function applyPreempted(state: State, id: string, by: "us" | "engine", keptTokens: number): void {
  const request = state.requests.get(id);
  if (request === undefined) return count(state, "unknownRequests");
  if (by === "us") {
    if (request.pendingMode === null) return count(state, "unknownRequests");
    state.ledger.pendingFree -= request.pendingFreeTokens;
    request.pendingFreeTokens = 0;
    if (request.pendingMode === "swap" && !(keptTokens > 0) && request.swappedTokens > 0) {
      request.redoneTokens += request.decodedTokens;
      request.decodedTokens = request.filledTokens = request.swappedTokens = 0;
      const task = state.tasks.get(request.spec.task);
      if (task !== undefined) task.revision += 1;
    }
    request.pendingMode = null;
    return;
  }
  if (!state.running.has(id)) return count(state, "unknownRequests");
  releaseCells(state, request);
  const mode: PreemptMode = keptTokens > 0 ? "swap" : state.config.redo === "redecode" ? "redecode" : "cancel";
  backToQueue(state, request, mode);
  request.preemptions += 1;
  request.retractions += 1;
  count(state, "forcedPreemptions");
}

/** The engine would not take it: the promise is returned, and it is not tried again at this instant. */
export function applyRefused(state: State, id: string): void {
  const request = state.running.get(id);
  if (request === undefined) return;
  releaseCells(state, request);
  backToQueue(state, request, request.decodedTokens > 0 ? "cancel" : "redecode");
  request.refusals += 1;
  count(state, "refusals");
}

export function applyBudget(state: State, budgetTokens: number): void {
  state.ledger.budgetTokens = usableBudgetTokens(state.config, budgetTokens);
}

/** The engine process died: nothing is resident anywhere; running requests wait again with their token ids. */
export function applyEngineLost(state: State): void {
  count(state, "enginesLost");
  for (const request of state.running.values()) {
    releaseCells(state, request);
    backToQueue(state, request, "cancel");
    request.cooldownSeconds = null;
  }
  for (const request of state.waiting.values()) {
    state.ledger.pendingFree -= request.pendingFreeTokens;
    request.pendingFreeTokens = 0;
    request.pendingMode = null;
    if (request.swappedTokens === 0) continue;
    const task = state.tasks.get(request.spec.task);
    if (task !== undefined) task.revision += 1;
    request.redoneTokens += request.decodedTokens;
    request.decodedTokens = request.filledTokens = request.swappedTokens = 0;
  }
  const entries = [...state.entries.values()];
  for (const entry of entries) if (entry.kind === "session") makeAbsent(state, entry, false);
  for (const entry of entries) if (entry.kind === "prefix") makeAbsent(state, entry, false);
}
