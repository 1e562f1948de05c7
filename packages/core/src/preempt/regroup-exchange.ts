import { fits, take, type Picking } from "../kv-index/choose.ts";
import { compareItems, type Group, type Item } from "../kv-index/item.ts";
import { ratioOf } from "../kv-index/key.ts";
import { promisedTo } from "../kv-index/running.ts";
import { movableItem } from "./regroup.ts";

/** What the newcomers must be worth more than those they replace (algorithm 5.7). */
const REGROUP_RATIO = 3;
const SWAP_DIFFERENCE = Math.log(3);
const MOST_OF_EACH = 2;
/** Waiting requests looked at per group for a fill. */
const FILL_DEPTH = 64;

interface Exchange {
  readonly group: Group;
  readonly stop: readonly Item[];
  readonly start: readonly Item[];
  readonly ratio: number;
}

/** Voluntary preemption after the plan is made: up to two regroups, then up to two index swaps. Returns the victims. */
export function exchange(picking: Picking, staying: readonly Item[]): ReadonlySet<Item> {
  const victims = new Set<Item>();
  if (!picking.index.running.some((item) => movableItem(picking.index.state, item, picking.nowSeconds))) return victims;
  for (let n = 0; n < MOST_OF_EACH && regroupOnce(picking, staying, victims); n++);
  for (let n = 0; n < MOST_OF_EACH && swapOnce(picking, staying, victims); n++);
  return victims;
}

/** Tokens that come free if these leave too; negative never. */
function freed(picking: Picking, staying: readonly Item[], gone: ReadonlySet<Item>, more: readonly Item[]): number {
  const { index, nowSeconds } = picking;
  const after = promisedTo(index, staying, nowSeconds, new Set([...gone, ...more]));
  return Math.max(0, promisedTo(index, staying, nowSeconds, gone) - after);
}

function regroupOnce(picking: Picking, staying: readonly Item[], victims: Set<Item>): boolean {
  const { index, nowSeconds, opened } = picking;
  let best: Exchange | null = null;
  for (const group of index.groups.values()) {
    const { running } = group;
    if (group.prefix === null || running.size === 0 || running.size > 2 || opened.has(group)) continue;
    const stop = [...running];
    if (stop.some((item) => victims.has(item) || !movableItem(index.state, item, nowSeconds))) continue;
    if (picking.admit.some((item) => item.group === group)) continue;
    const prefix = index.state.entries.get(group.prefix)?.tokens ?? 0;
    const room = picking.roomTokens + prefix + freed(picking, staying, victims, stop);
    const start = fill(picking, group, room, stop.length);
    if (start.length <= stop.length) continue;
    const ratio = worth(start, stop);
    if (ratio >= REGROUP_RATIO && (best === null || ratio > best.ratio)) best = { group, stop, start, ratio };
  }
  if (best === null) return false;
  apply(picking, staying, victims, best.stop, best.start);
  return true;
}

/** Heads of pinned agents, best key first, then whole groups that fill more places than are given up. */
function fill(picking: Picking, leaving: Group, roomTokens: number, stopped: number): readonly Item[] {
  let room = roomTokens;
  let slots = picking.slots + stopped;
  const out: Item[] = [];
  const open: Group[] = [];
  const pinned: Item[] = [];
  for (const group of picking.groups) {
    if (group === leaving) continue;
    if (group.scratch.chargeTokens > 0) open.push(group);
    else pinned.push(...group.items.slice(0, FILL_DEPTH));
  }
  for (const item of pinned.sort(compareItems)) {
    if (slots <= 0) return out;
    if (!fits(picking, item, room)) continue;
    out.push(item);
    room -= item.needTokens;
    slots -= 1;
  }
  for (const group of open.sort((a, b) => compareItems(a.items[0]!, b.items[0]!))) {
    if (group.items.length < 2) continue;
    let left = room - group.scratch.chargeTokens;
    const some: Item[] = [];
    for (const item of group.items.slice(0, FILL_DEPTH)) {
      if (some.length >= slots || item.needTokens > left || !fits(picking, item, room)) continue;
      some.push(item);
      left -= item.needTokens;
    }
    if (some.length <= stopped) continue;
    out.push(...some);
    room = left;
    slots -= some.length;
  }
  return out;
}

/** sum e^key * need of the new over sum e^key * d of the old. */
function worth(start: readonly Item[], stop: readonly Item[]): number {
  const top = stop.reduce((key, item) => Math.max(key, item.key), -Infinity);
  const news = start.reduce((sum, item) => sum + ratioOf(item.key - top) * item.needTokens, 0);
  const olds = stop.reduce((sum, item) => sum + ratioOf(item.key - top) * item.heldTokens, 0);
  return olds > 0 ? news / olds : Infinity;
}

function swapOnce(picking: Picking, staying: readonly Item[], victims: Set<Item>): boolean {
  const { index, nowSeconds } = picking;
  let wanted: Item | null = null;
  for (const group of picking.groups) {
    const head = group.items.find((item) => fits(picking, item, Infinity));
    if (head !== undefined && (wanted === null || compareItems(head, wanted) < 0)) wanted = head;
  }
  if (wanted === null) return false;
  const cost = wanted.needTokens + wanted.group.scratch.chargeTokens;
  let victim: Item | null = null;
  for (const item of index.running) {
    if (wanted.key - item.key < SWAP_DIFFERENCE || victims.has(item)) continue;
    if (victim !== null && compareItems(item, victim) < 0) continue;
    if (!movableItem(index.state, item, nowSeconds)) continue;
    if (cost <= picking.roomTokens + spaceOf(picking, staying, victims, item, wanted)) victim = item;
  }
  if (victim === null) return false;
  apply(picking, staying, victims, [victim], [wanted]);
  return true;
}

function spaceOf(picking: Picking, staying: readonly Item[], victims: ReadonlySet<Item>, item: Item, wanted: Item): number {
  const { group } = item;
  if (picking.slots <= 0 && picking.roomTokens >= wanted.needTokens + wanted.group.scratch.chargeTokens) return 0;
  const sole = group !== wanted.group && group.prefix !== null && group.running.size === 1 && !picking.opened.has(group);
  const alone = sole && !picking.admit.some((other) => other.group === group);
  const prefix = alone ? (picking.index.state.entries.get(group.prefix!)?.tokens ?? 0) : 0;
  return prefix + freed(picking, staying, victims, [item]);
}

/** The victims leave, a prefix without users is unpinned, and the newcomers are booked. */
function apply(
  picking: Picking,
  staying: readonly Item[],
  victims: Set<Item>,
  stop: readonly Item[],
  start: readonly Item[],
): void {
  picking.roomTokens += freed(picking, staying, victims, stop);
  picking.slots += stop.length;
  for (const item of stop) victims.add(item);
  for (const { group } of stop) {
    const gone = [...group.running].every((item) => victims.has(item));
    if (!gone || group.prefix === null || group.scratch.chargeTokens > 0) continue;
    if (picking.admit.some((item) => item.group === group)) continue;
    const tokens = picking.index.state.entries.get(group.prefix)?.tokens ?? 0;
    picking.roomTokens += tokens;
    group.scratch.chargeTokens = tokens;
  }
  for (const item of start) take(picking, item);
}
