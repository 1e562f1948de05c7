import type { EntryId, EvictAction } from "../events.ts";
import { freeTokens } from "../ledger.ts";
import type { Evict, Plan } from "../policy/policy.ts";
import type { EntryState } from "../state.ts";
import { promptCells, type View } from "../view.ts";

/** Resident entries, first to go first. Dead sessions lead; sessions always precede the prefix they sit on. */
export function evictionOrder(view: View, value: (entry: EntryState) => number): readonly EntryState[] {
  const resident = [...view.state.entries.values()].filter((entry) => entry.phase === "resident");
  const valued = resident
    .map((entry) => ({ entry, value: entry.dead ? -Infinity : value(entry) }))
    .sort((a, b) => a.value - b.value || a.entry.lastUseSeq - b.entry.lastUseSeq || (a.entry.id < b.entry.id ? -1 : 1));
  const onPrefix = new Map<EntryId, EntryState[]>();
  for (const { entry } of valued) {
    if (entry.base === null) continue;
    const list = onPrefix.get(entry.base);
    if (list === undefined) onPrefix.set(entry.base, [entry]);
    else list.push(entry);
  }
  if (onPrefix.size === 0) return valued.map(({ entry }) => entry);
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

const perView = new WeakMap<View, { readonly evict: Evict; readonly physical: Physical }>();

/** Worked out once per view. */
export function physicalOf(view: View, evict: Evict): Physical {
  const known = perView.get(view);
  if (known?.evict === evict) return known.physical;
  const physical = { order: evictionOrder(view, evict.values(view)), outstandingTokens: outstandingTokens(view) };
  perView.set(view, { evict, physical });
  return physical;
}

export interface Cover {
  readonly evict: readonly EntryState[];
  /** Absent prefixes the plan brings in. */
  readonly incoming: readonly EntryState[];
  /** Tokens still short after every eviction allowed; 0 for a plan that fits. */
  readonly shortTokens: number;
  /** Tokens still short after the evictions; below 0: free once everything has its prompt. */
  readonly balanceTokens: number;
}

/** Evicts, lowest value first, what must leave so that the prompts of the plan fit physically; growth may be lent (algorithm 1.2). */
export function cover(view: View, plan: Plan, physical: Physical): Cover {
  const users = new Map<EntryId, number>();
  for (const request of plan.preempt)
    if (request.prefix !== null) users.set(request.prefix, (users.get(request.prefix) ?? 0) + 1);
  const leavingUsers = (entry: EntryState): number => users.get(entry.id) ?? 0;
  const used = new Set<EntryState>();
  const incoming: EntryState[] = [];
  let short = physical.outstandingTokens - freeTokens(view.state) - view.state.ledger.pendingFree;
  for (const request of plan.preempt) short -= Math.max(request.cells, promptCells(view, request));
  for (const id of users.keys()) {
    const entry = view.state.entries.get(id);
    if (entry?.phase === "loading" && entry.loadFor === "requests" && entry.users === leavingUsers(entry)) short -= entry.tokens;
  }
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
  const told = plan.leave === undefined || plan.leave.length === 0 ? null : new Set(plan.leave.map((entry) => entry.id));
  const mustLeave = (entry: EntryState): boolean =>
    entry.dead || (told !== null && (told.has(entry.id) || (entry.base !== null && told.has(entry.base))));
  for (const entry of physical.order) {
    if (short <= 0 && !mustLeave(entry)) {
      if (told === null) break;
      continue;
    }
    if (used.has(entry) || entry.users > leavingUsers(entry) || entry.sessions > (gone.get(entry.id) ?? 0)) continue;
    evict.push(entry);
    short -= entry.cells;
    if (entry.base !== null) gone.set(entry.base, (gone.get(entry.base) ?? 0) + 1);
  }
  return { evict, incoming, shortTokens: Math.max(0, short), balanceTokens: short };
}

/** Cells still to be filled by what already runs or loads: prompts and prefixes. */
function outstandingTokens(view: View): number {
  let tokens = 0;
  for (const request of view.running) tokens += Math.max(0, promptCells(view, request) - request.cells);
  for (const entry of view.state.entries.values())
    if (entry.phase === "loading" && (entry.loadFor === "prefetch" || entry.users > 0)) tokens += entry.tokens;
  return tokens;
}

export function evictActions(view: View, entries: readonly EntryState[]): EvictAction[] {
  return entries.map((entry) => ({ entry: entry.id, keepHost: entry.kind === "prefix" && view.state.config.hostTier }));
}
