import { toBlocks } from "../config.ts";
import type { EntryId, EvictAction, LoadAction } from "../events.ts";
import { freeTokens } from "../ledger.ts";
import { promptHeldTokens, type EntryState, type State } from "../state.ts";
import type { Item } from "./item.ts";
import { missingCells } from "./running.ts";
import type { KvIndex } from "./store.ts";

export interface Memory {
  readonly evict: readonly EvictAction[];
  readonly load: readonly LoadAction[];
  /** What stays, lowest value first; sorted when first asked for. */
  keep(): readonly EntryId[];
}

interface Valued {
  readonly entry: EntryState;
  readonly id: EntryId;
  readonly base: EntryId | null;
  readonly value: number;
  readonly lastUseSeq: number;
}

/** Residency of a plan: what comes in, and what must leave so that its prompts fit physically (algorithm 1.2). */
export function settleMemory(
  index: KvIndex,
  admit: readonly Item[],
  leaving: ReadonlySet<Item>,
  outstandingTokens: number,
  value: (entry: EntryState) => number,
): Memory {
  const { state } = index;
  const leavingUsers = usersOf(leaving);
  const resident: Valued[] = [];
  let dead = 0;
  let short = outstandingTokens - (freeTokens(state) + state.ledger.pendingFree);
  for (const entry of state.entries.values()) {
    if (entry.phase === "resident") {
      if (entry.dead) dead += 1;
      resident.push({
        entry,
        id: entry.id,
        base: entry.base,
        value: entry.dead ? -1 : value(entry),
        lastUseSeq: entry.lastUseSeq,
      });
    } else if (entry.phase === "loading" && (entry.loadFor === "prefetch" || entry.users > (leavingUsers.get(entry.id) ?? 0)))
      short += entry.tokens;
  }
  for (const item of leaving) short -= item.request.cells + missingCells(index, item.request);
  const used = new Set<EntryState>();
  const load: LoadAction[] = [];
  for (const item of admit) short += bringIn(state, item, leavingUsers, used, load);

  let order: readonly Valued[] | null = null;
  const gone = new Set<EntryState>();
  if (short > 0 || dead > 0) {
    order = inOrder(resident);
    const sessionsGone = new Map<EntryId, number>();
    for (const { entry } of order) {
      if (short <= 0 && !entry.dead) continue;
      if (used.has(entry) || entry.users > (leavingUsers.get(entry.id) ?? 0)) continue;
      if (entry.sessions > (sessionsGone.get(entry.id) ?? 0)) continue;
      gone.add(entry);
      short -= entry.cells;
      if (entry.base !== null) sessionsGone.set(entry.base, (sessionsGone.get(entry.base) ?? 0) + 1);
    }
  }
  let kept: readonly EntryId[] | null = null;
  return {
    evict: [...gone].map((entry) => ({ entry: entry.id, keepHost: entry.kind === "prefix" && state.config.hostTier })),
    load,
    keep: () => (kept ??= (order ?? inOrder(resident)).filter(({ entry }) => !gone.has(entry)).map(({ id }) => id)),
  };
}

function usersOf(items: ReadonlySet<Item>): ReadonlyMap<EntryId, number> {
  const users = new Map<EntryId, number>();
  for (const { group } of items) if (group.prefix !== null) users.set(group.prefix, (users.get(group.prefix) ?? 0) + 1);
  return users;
}

/** Cells one admission adds; its session's become its own, its prefix is filled when nothing holds it. */
function bringIn(
  state: State,
  { request }: Item,
  leavingUsers: ReadonlyMap<EntryId, number>,
  used: Set<EntryState>,
  load: LoadAction[],
): number {
  let cells = toBlocks(state.config, promptHeldTokens(request));
  const session = request.spec.session === null ? undefined : state.entries.get(`session:${request.spec.session.id}`);
  if (session?.phase === "resident" && session.base === request.prefix && !used.has(session)) {
    used.add(session);
    cells -= session.cells;
  }
  const prefix = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (prefix === undefined || used.has(prefix)) return cells;
  used.add(prefix);
  const abandoned =
    prefix.phase === "loading" && prefix.loadFor === "requests" && prefix.users === (leavingUsers.get(prefix.id) ?? 0);
  if (prefix.phase !== "absent" && !abandoned) return cells;
  load.push({ entry: prefix.id, from: prefix.onHost ? "host" : "compute" });
  return cells + prefix.tokens;
}

/** Lowest value first, ties least recently used, then id; sessions always before the prefix they sit on. */
function inOrder(resident: Valued[]): readonly Valued[] {
  const sorted = resident.toSorted((a, b) => a.value - b.value || a.lastUseSeq - b.lastUseSeq || (a.id < b.id ? -1 : 1));
  if (!sorted.some(({ base }) => base !== null)) return sorted;
  const onPrefix = new Map<EntryId, Valued[]>();
  for (const one of sorted) {
    if (one.base === null) continue;
    const list = onPrefix.get(one.base);
    if (list === undefined) onPrefix.set(one.base, [one]);
    else list.push(one);
  }
  const out = new Set<Valued>();
  for (const one of sorted) {
    for (const session of onPrefix.get(one.id) ?? []) out.add(session);
    out.add(one);
  }
  return [...out];
}
