import type { EntryId, EvictAction } from "../events.ts";
import { freeTokens } from "../ledger.ts";
import type { Plan } from "../policy/policy.ts";
import type { EntryState, RequestState } from "../state.ts";
import { promptCells, type View } from "../view.ts";

/** Resident entries, first to go first. Dead sessions lead; sessions always precede the prefix they sit on. */
export function evictionOrder(view: View, value: (entry: EntryState) => number): readonly EntryState[] {
  const resident = [...view.state.entries.values()].filter((entry) => entry.phase === "resident");
  const valued = resident
    .map((entry) => ({ entry, value: entry.dead ? -1 : value(entry) }))
    .toSorted((a, b) => a.value - b.value || a.entry.lastUseSeq - b.entry.lastUseSeq || (a.entry.id < b.entry.id ? -1 : 1));
  const onPrefix = new Map<EntryId, EntryState[]>();
  for (const { entry } of valued) {
    if (entry.base === null) continue;
    const list = onPrefix.get(entry.base);
    if (list === undefined) onPrefix.set(entry.base, [entry]);
    else list.push(entry);
  }
  const out = new Set<EntryState>();
  for (const { entry } of valued) {
    for (const session of onPrefix.get(entry.id) ?? []) out.add(session);
    out.add(entry);
  }
  return [...out];
}

/** What every candidate of one decision shares. */
export interface Physical {
  readonly order: readonly EntryState[];
  /** Cells that what already runs and loads still has to fill, nobody leaving. */
  readonly outstandingTokens: number;
}

export function physicalOf(view: View, value: (entry: EntryState) => number): Physical {
  return { order: evictionOrder(view, value), outstandingTokens: outstandingTokens(view, [], () => 0) };
}

export interface Cover {
  readonly evict: readonly EntryState[];
  /** Absent prefixes the plan brings in. */
  readonly incoming: readonly EntryState[];
  /** Tokens still short after every eviction allowed; 0 for a plan that fits. */
  readonly shortTokens: number;
}

/** Evicts, lowest value first, what must leave so that the prompts of the plan fit physically; growth may be lent (algorithm 1.2). */
export function cover(view: View, plan: Plan, physical: Physical): Cover {
  const users = new Map<EntryId, number>();
  for (const request of plan.preempt)
    if (request.prefix !== null) users.set(request.prefix, (users.get(request.prefix) ?? 0) + 1);
  const leavingUsers = (entry: EntryState): number => users.get(entry.id) ?? 0;
  const used = new Set<EntryState>();
  const incoming: EntryState[] = [];
  const outstanding =
    plan.preempt.length === 0 ? physical.outstandingTokens : outstandingTokens(view, plan.preempt, leavingUsers);
  let short = -(freeTokens(view.state) + view.state.ledger.pendingFree) + outstanding;
  for (const request of plan.preempt) short -= request.cells;
  for (const { request } of plan.admit) {
    short += promptCells(view, request);
    const session = view.sessionOf(request);
    if (session !== null && !used.has(session)) {
      used.add(session);
      short -= session.cells;
    }
    const prefix = view.prefixOf(request);
    if (prefix === null || used.has(prefix)) continue;
    used.add(prefix);
    if (
      prefix.phase === "absent" ||
      (prefix.phase === "loading" && prefix.loadFor === "requests" && prefix.users === leavingUsers(prefix))
    ) {
      incoming.push(prefix);
      short += prefix.tokens;
    }
  }
  const evict: EntryState[] = [];
  const gone = new Map<EntryId, number>();
  for (const entry of physical.order) {
    if (short <= 0 && !entry.dead) continue;
    if (used.has(entry) || entry.users > leavingUsers(entry) || entry.sessions > (gone.get(entry.id) ?? 0)) continue;
    evict.push(entry);
    short -= entry.cells;
    if (entry.base !== null) gone.set(entry.base, (gone.get(entry.base) ?? 0) + 1);
  }
  return { evict, incoming, shortTokens: Math.max(0, short) };
}

/** Cells still to be filled by what already runs or loads: prompts and prefixes. */
function outstandingTokens(view: View, leaving: readonly RequestState[], leavingUsers: (entry: EntryState) => number): number {
  const out = new Set(leaving);
  let tokens = 0;
  for (const request of view.running) if (!out.has(request)) tokens += Math.max(0, promptCells(view, request) - request.cells);
  for (const entry of view.state.entries.values())
    if (entry.phase === "loading" && (entry.loadFor === "prefetch" || entry.users > leavingUsers(entry))) tokens += entry.tokens;
  return tokens;
}

export function evictActions(view: View, entries: readonly EntryState[]): EvictAction[] {
  return entries.map((entry) => ({ entry: entry.id, keepHost: entry.kind === "prefix" && view.state.config.hostTier }));
}
