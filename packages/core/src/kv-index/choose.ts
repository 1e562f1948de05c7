import type { PolicyOptions } from "../policy/policy.ts";
import { rests } from "./admissible.ts";
import { DEPTH, groupDensity, ownShare } from "./density.ts";
import type { Guard } from "./guard.ts";
import { compareItems, compareTies, type Group, type Item } from "./item.ts";
import { allOf, type Line } from "./line.ts";
import type { KvIndex } from "./store.ts";
import { wantedByPinned } from "./wanted.ts";

/** One decision in progress. */
export interface Picking {
  readonly index: KvIndex;
  readonly nowSeconds: number;
  readonly options: PolicyOptions;
  guard: Guard | null;
  readonly groups: readonly Group[];
  readonly admit: Item[];
  roomTokens: number;
  slots: number;
  /** Prefixes that `admit` pins, with the tokens paid for each. */
  readonly opened: Map<Group, number>;
  /** Earliest time at which a declined prefix may start, seconds; Infinity: none declined. */
  declinedUntilSeconds: number;
}

/** Prepares the groups for one decision; those whose prefix is on its way out take no part. */
export function startPicking(
  index: KvIndex,
  options: PolicyOptions,
  nowSeconds: number,
  roomTokens: number,
  slots: number,
): Picking {
  index.decisions += 1;
  const groups: Group[] = [];
  for (const group of index.groups.values()) {
    const { scratch } = group;
    scratch.chunk = scratch.place = 0;
    scratch.head = null;
    scratch.members.length = 0;
    scratch.exact = false;
    const entry = group.prefix === null ? undefined : index.state.entries.get(group.prefix);
    scratch.chargeTokens = entry === undefined || entry.users > 0 ? 0 : entry.tokens;
    scratch.evicting = entry?.phase === "evicting";
    if (group.line.size > 0 && !scratch.evicting) groups.push(group);
  }
  return {
    index,
    nowSeconds,
    options,
    guard: null,
    groups,
    admit: [],
    roomTokens,
    slots,
    opened: new Map(),
    declinedUntilSeconds: Infinity,
  };
}

/** A new pass over the same groups: more room, or another guard. */
export function restart(picking: Picking, roomTokens: number, guard: Guard | null): void {
  picking.roomTokens = roomTokens;
  picking.guard = guard;
  for (const { scratch } of picking.groups) {
    scratch.chunk = scratch.place = 0;
    scratch.head = null;
  }
}

/** Admits the first request of the agent of largest density until nothing fits (algorithm 5.3). */
export function pickByDensity(picking: Picking): void {
  while (picking.slots > 0) {
    let best: Group | null = null;
    for (const group of picking.groups) {
      if (!refreshHead(picking, group)) continue;
      if (best !== null && !beats(group, best)) continue;
      if (makeExact(picking, group)) best = best === null || beats(group, best) ? group : best;
    }
    if (best === null) return;
    take(picking, best.scratch.head!);
  }
}

/** By value as far as it is known: an upper bound until the density has been worked out. */
function beats(group: Group, best: Group): boolean {
  const delta = group.scratch.value - best.scratch.value;
  return delta > 0 || (delta === 0 && compareTies(group.scratch.head!, best.scratch.head!) < 0);
}

/** Finds the group's first request that fits, unless the one found before still does. False: none. */
function refreshHead(picking: Picking, group: Group): boolean {
  const { scratch } = group;
  const { head } = scratch;
  const fresh =
    head !== null &&
    head.takenIn !== picking.index.decisions &&
    scratch.costTokens <= picking.roomTokens &&
    scratch.extraTokens === (picking.guard?.extraTokens ?? 0);
  if (fresh) return scratch.value > -Infinity;
  scratch.head = nextFitting(picking, group, scratch);
  if (scratch.head === null) return false;
  scratch.extraTokens = picking.guard?.extraTokens ?? 0;
  scratch.costTokens = scratch.head.needTokens + scratch.chargeTokens;
  scratch.value = scratch.head.key;
  scratch.exact = scratch.chargeTokens === 0;
  return true;
}

/** Best key of all that still wait and may start, whether they fit or not. */
export function bestWaiting(picking: Picking): Item | null {
  let best: Item | null = null;
  for (const { line } of picking.groups) {
    const item = firstLeft(picking, line);
    if (item !== null && (best === null || compareItems(item, best) < 0)) best = item;
  }
  return best;
}

function firstLeft({ index, nowSeconds }: Picking, line: Line): Item | null {
  for (const { items } of line.chunks)
    for (const item of items) if (item.takenIn !== index.decisions && !rests(item.request, nowSeconds)) return item;
  return null;
}

/** From the given place on; moves the place there. Chunks in which nothing can fit are passed by. */
function nextFitting(picking: Picking, group: Group, at: { chunk: number; place: number }, roomTokens?: number): Item | null {
  const { chunks, leastTokens, leastSeconds } = group.line;
  const charge = group.scratch.chargeTokens;
  const room = (roomTokens ?? picking.roomTokens) - charge;
  const { guard } = picking;
  const free = guard === null || guard.item.group === group;
  const extra = free ? Infinity : guard.extraTokens - charge;
  const shadow = free ? Infinity : guard.shadowSeconds;
  for (; at.chunk < chunks.length; at.chunk++, at.place = 0) {
    const need = leastTokens[at.chunk]!;
    if (need > room || (need > extra && leastSeconds[at.chunk]! > shadow)) continue;
    const { items, needs, ends } = chunks[at.chunk]!;
    for (; at.place < items.length; at.place++) {
      if (needs[at.place]! > room || (needs[at.place]! > extra && ends[at.place]! > shadow)) continue;
      if (fits(picking, items[at.place]!, room + charge)) return items[at.place]!;
    }
  }
  return null;
}

export function fits(picking: Picking, item: Item, roomTokens = picking.roomTokens): boolean {
  const { index, guard } = picking;
  if (item.takenIn === index.decisions) return false;
  const cost = item.needTokens + item.group.scratch.chargeTokens;
  if (cost > roomTokens || rests(item.request, picking.nowSeconds)) return false;
  if (guard === null || item === guard.item || cost <= guard.extraTokens) return true;
  return item.endSeconds <= guard.shadowSeconds;
}

/** Works out the density of an unpinned group. False: it is declined for now. */
function makeExact(picking: Picking, group: Group): boolean {
  const { scratch } = group;
  if (scratch.exact) return true;
  const { index } = picking;
  const { settings, state } = index;
  const charge = scratch.chargeTokens;
  let left = picking.roomTokens - charge;
  const members = scratch.members;
  members.length = 0;
  const at = { chunk: scratch.chunk, place: scratch.place };
  while (members.length < DEPTH) {
    const item = nextFitting(picking, group, at, left + charge);
    if (item === null) break;
    members.push(item);
    left -= item.needTokens;
    at.place += 1;
  }
  scratch.exact = true;
  scratch.costTokens = picking.roomTokens - left;
  if (settings.decline === "share" && index.running.length + picking.admit.length > 0) {
    const { share, longest } = ownShare(members, charge);
    if (share < settings.declineBelow) {
      const oldest = members.reduce((time, { request }) => Math.min(time, request.readySeconds), Infinity);
      const until = oldest + settings.declineHold * longest;
      if (picking.nowSeconds < until) {
        picking.declinedUntilSeconds = Math.min(picking.declinedUntilSeconds, until);
        scratch.value = -Infinity;
        return false;
      }
    }
  }
  const entry = state.entries.get(group.prefix!)!;
  const budget = state.ledger.budgetTokens;
  const recomputed = entry.phase === "absent" && !entry.onHost && budget !== null && Number.isFinite(budget);
  scratch.value = groupDensity(members, {
    prefixTokens: charge,
    stallTokenSeconds: recomputed ? state.config.speeds.prefillSecondsPerToken * charge * budget : 0,
    displaced:
      settings.decline === "slots" ? { leftTokens: picking.roomTokens - charge, wantedTokens: wantedByPinned(index) } : null,
  });
  return scratch.value > -Infinity;
}

/** Books one admission; whatever it pins is free for the rest of its group. */
export function take(picking: Picking, item: Item): void {
  const { guard, index } = picking;
  const { group } = item;
  const { scratch } = group;
  const cost = item.needTokens + scratch.chargeTokens;
  if (guard !== null && item !== guard.item && item.endSeconds > guard.shadowSeconds) guard.extraTokens -= cost;
  picking.roomTokens -= cost;
  picking.slots -= 1;
  item.takenIn = index.decisions;
  picking.admit.push(item);
  if (scratch.chargeTokens > 0) {
    scratch.chunk = scratch.place = 0;
    picking.opened.set(group, scratch.chargeTokens);
  }
  scratch.chargeTokens = 0;
  scratch.head = null;
  if (index.settings.decline !== "off") for (const group of picking.groups) group.scratch.head = null;
}

/** Everything waiting, in key order, when all of it fits (algorithm 5.3); false: it does not. */
export function pickAll(picking: Picking): boolean {
  const { index } = picking;
  if (index.state.waiting.size > picking.slots) return false;
  let tokens = 0;
  for (const group of picking.groups) {
    tokens += group.line.tokens + group.scratch.chargeTokens;
    if (tokens > picking.roomTokens) return false;
  }
  const all: Item[] = [];
  for (const group of picking.groups)
    for (const item of allOf(group.line)) if (!rests(item.request, picking.nowSeconds)) all.push(item);
  for (const item of all.toSorted(compareItems)) take(picking, item);
  return true;
}
