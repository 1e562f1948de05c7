import type { EntryId } from "./events.ts";
import { freeTokens } from "./ledger.ts";
import type { State } from "./state.ts";

/** Recomputes the books from scratch; each string is one broken rule, none means all is well. O(requests + entries). */
export function checkInvariants(state: State): string[] {
  const broken: string[] = [];
  const expect = (rule: string, actual: number, expected: number): void => {
    if (Math.abs(actual - expected) > 1e-6) broken.push(`${rule}: ${actual}, recomputed ${expected}`);
  };
  const { ledger } = state;
  let runningKv = 0;
  let promised = 0;
  let pendingFree = 0;
  let residentPrefix = 0;
  let residentSession = 0;
  let pinned = 0;
  const users = new Map<EntryId, number>();
  const refs = new Map<EntryId, number>();
  const sessions = new Map<EntryId, number>();
  const bump = (map: Map<EntryId, number>, id: EntryId | null): void => {
    if (id !== null) map.set(id, (map.get(id) ?? 0) + 1);
  };

  for (const [id, request] of state.requests) {
    const waits = state.waiting.get(id) === request;
    const runs = state.running.get(id) === request;
    if (waits === runs) broken.push(`request ${id} is in ${waits ? "both lists" : "no list"}`);
    bump(refs, request.prefix);
    if (runs) bump(users, request.prefix);
    runningKv += request.cells;
    promised += request.promisedTokens;
    pendingFree += request.pendingFreeTokens;
    if (waits && (request.cells !== 0 || request.promisedTokens !== 0)) broken.push(`waiting request ${id} owns KV`);
    if (waits && request.creditSeconds !== 0) broken.push(`waiting request ${id} has credit`);
    if (!Number.isFinite(request.creditSeconds) || request.creditSeconds < 0)
      broken.push(`request ${id} has credit ${request.creditSeconds}`);
    if (runs && request.pendingFreeTokens !== 0) broken.push(`running request ${id} is pending free`);
  }
  if (state.waiting.size + state.running.size !== state.requests.size) broken.push("lists and requests differ in size");

  let unowned = 0;
  for (const entry of state.entries.values()) {
    if (entry.task !== null) unowned += state.sessionsOf.get(entry.task)?.has(entry) === true ? 0 : 1;
    if (entry.kind === "prefix") residentPrefix += entry.cells;
    else residentSession += entry.cells;
    if (entry.phase === "evicting") pendingFree += entry.tokens;
    if (entry.users > 0) pinned += entry.tokens;
    if (entry.phase === "resident" && entry.kind === "session") bump(sessions, entry.base);
    if (entry.cells !== (entry.phase === "resident" ? entry.tokens : 0))
      broken.push(`entry ${entry.id} is ${entry.phase} with ${entry.cells} cells`);
  }
  for (const entry of state.entries.values()) {
    expect(`users of ${entry.id}`, entry.users, users.get(entry.id) ?? 0);
    expect(`references to ${entry.id}`, entry.refs, refs.get(entry.id) ?? 0);
    expect(`sessions on ${entry.id}`, entry.sessions, sessions.get(entry.id) ?? 0);
    if (entry.phase !== "resident" && entry.sessions > 0) broken.push(`entry ${entry.id} left before its sessions`);
    if (entry.users > 0 && entry.phase !== "resident" && entry.phase !== "loading")
      broken.push(`entry ${entry.id} is pinned while ${entry.phase}`);
  }
  for (const id of users.keys()) if (!state.entries.has(id)) broken.push(`entry ${id} is used but unknown`);

  expect("session entries their tasks do not know", unowned, 0);
  expect("runningKv", ledger.runningKv, runningKv);
  expect("promised", ledger.promised, promised);
  expect("pendingFree", ledger.pendingFree, pendingFree);
  expect("residentPrefix", ledger.residentPrefix, residentPrefix);
  expect("residentSession", ledger.residentSession, residentSession);
  expect("pinned", ledger.pinned, pinned);
  const terms = { ...ledger, free: freeTokens(state) };
  for (const [name, value] of Object.entries(terms)) if (value !== null && !(value >= 0)) broken.push(`${name} is ${value}`);
  for (const task of state.tasks.values()) if (task.live < 0) broken.push(`task ${task.id} has ${task.live} live calls`);
  return broken;
}
