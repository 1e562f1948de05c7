import { bestWaiting, fits, take, type Picking } from "../kv-index/choose.ts";
import type { Group, Item } from "../kv-index/item.ts";
import { compareItems } from "../kv-index/item.ts";
import { ratioOf } from "../kv-index/key.ts";
import { front } from "../kv-index/line.ts";
import { promisedTo } from "../kv-index/running.ts";
import { movableItem } from "./regroup.ts";

/** What the newcomers must be worth more than those they replace (algorithm 5.7). */
const REGROUP_RATIO = 3;
const SWAP_DIFFERENCE = Math.log(3);
const MOST_OF_EACH = 2;
/** Waiting requests looked at per group for a fill, and victims tried per swap. */
const FILL_DEPTH = 16;
const VICTIMS_TRIED = 16;

interface Exchange {
  readonly stop: readonly Item[];
  readonly start: readonly Item[];
  readonly ratio: number;
}

interface Scene {
  readonly picking: Picking;
  /** Running and admitted by this plan, longest remaining first. */
  readonly staying: readonly Item[];
  readonly victims: Set<Item>;
}

/** Voluntary preemption after the plan is made: up to two regroups, then up to two index swaps. Returns the victims. */
export function exchange(picking: Picking, staying: readonly Item[]): ReadonlySet<Item> {
  const scene: Scene = { picking, staying, victims: new Set() };
  const { index, nowSeconds } = picking;
  const movables = index.running.filter((item) => movableItem(index.state, item, nowSeconds));
  if (movables.length === 0) return scene.victims;
  for (let n = 0; n < MOST_OF_EACH && regroupOnce(scene, movables); n++);
  movables.sort((a, b) => compareItems(b, a));
  for (let n = 0; n < MOST_OF_EACH && swapOnce(scene, movables); n++);
  return scene.victims;
}

/** Tokens that come free if these leave too; never negative. */
function freed({ picking, staying, victims }: Scene, more: readonly Item[]): number {
  const { index, nowSeconds } = picking;
  const after = promisedTo(index, staying, nowSeconds, new Set([...victims, ...more]));
  return Math.max(0, promisedTo(index, staying, nowSeconds, victims) - after);
}

function prefixTokens({ picking }: Scene, group: Group): number {
  return group.prefix === null ? 0 : (picking.index.state.entries.get(group.prefix)?.tokens ?? 0);
}

/** Nobody but these runs on the group's prefix, nor starts to by this plan. */
function lastOf({ picking, victims }: Scene, group: Group, stop: readonly Item[]): boolean {
  if (group.prefix === null || picking.opened.has(group)) return false;
  for (const item of group.running) if (!victims.has(item) && !stop.includes(item)) return false;
  return !picking.admit.some((item) => item.group === group);
}

function regroupOnce(scene: Scene, movables: readonly Item[]): boolean {
  const { picking, victims } = scene;
  const small = new Set<Group>();
  for (const { group } of movables) if (group.prefix !== null && group.running.size <= 2) small.add(group);
  if (small.size === 0) return false;
  const offer = offerOf(picking);
  let best: Exchange | null = null;
  for (const group of small) {
    const stop = [...group.running];
    if (stop.some((item) => victims.has(item) || !movables.includes(item)) || !lastOf(scene, group, stop)) continue;
    const start = fill(
      offer,
      group,
      picking.roomTokens + prefixTokens(scene, group) + freed(scene, stop),
      picking.slots,
      stop.length,
    );
    if (start.length <= stop.length) continue;
    const ratio = worth(start, stop);
    if (ratio >= REGROUP_RATIO && (best === null || ratio > best.ratio)) best = { stop, start, ratio };
  }
  if (best === null) return false;
  apply(scene, best.stop, best.start);
  return true;
}

/** Who could start, the same for every group that might leave: heads of pinned agents and of the others, best key first. */
interface Offer {
  readonly pinned: readonly Item[];
  readonly open: readonly { readonly group: Group; readonly heads: readonly Item[] }[];
}

function offerOf(picking: Picking): Offer {
  const pinned: Item[] = [];
  const open: { group: Group; heads: Item[] }[] = [];
  for (const group of picking.groups) {
    const heads = front(group.line, FILL_DEPTH).filter((item) => fits(picking, item, Infinity));
    if (group.scratch.chargeTokens === 0) pinned.push(...heads);
    else if (heads.length >= 2) open.push({ group, heads });
  }
  pinned.sort(compareItems);
  open.sort((a, b) => compareItems(a.heads[0]!, b.heads[0]!));
  return { pinned, open };
}

/** Heads of pinned agents, best key first, then whole groups that fill more places than are given up. */
function fill(offer: Offer, leaving: Group, roomTokens: number, freeSlots: number, stopped: number): readonly Item[] {
  let room = roomTokens;
  let slots = freeSlots + stopped;
  const out: Item[] = [];
  for (const item of offer.pinned) {
    if (slots <= 0) return out;
    if (item.group === leaving || item.needTokens > room) continue;
    out.push(item);
    room -= item.needTokens;
    slots -= 1;
  }
  for (const { group, heads } of offer.open) {
    let left = room - group.scratch.chargeTokens;
    if (left <= 0) continue;
    const some: Item[] = [];
    for (const item of heads) {
      if (some.length >= slots || item.needTokens > left) continue;
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

/** The best waiting request that does not fit, against the lowest running one whose leaving makes it fit. */
function swapOnce(scene: Scene, movables: readonly Item[]): boolean {
  const { picking, victims } = scene;
  const wanted = bestWaiting(picking);
  if (wanted === null || !fits(picking, wanted, Infinity)) return false;
  const cost = wanted.needTokens + wanted.group.scratch.chargeTokens;
  let tried = 0;
  for (const victim of movables) {
    if (wanted.key - victim.key < SWAP_DIFFERENCE || tried >= VICTIMS_TRIED) return false;
    if (victims.has(victim)) continue;
    const prefix = victim.group !== wanted.group && lastOf(scene, victim.group, [victim]) ? prefixTokens(scene, victim.group) : 0;
    // Leaving never frees more than d + x, so most are passed without working out the peak.
    if (cost > picking.roomTokens + prefix + victim.heldTokens + victim.leftTokens) continue;
    tried += 1;
    if (cost > picking.roomTokens + prefix + freed(scene, [victim])) continue;
    apply(scene, [victim], [wanted]);
    return true;
  }
  return false;
}

/** The victims leave, a prefix without users is unpinned, and the newcomers are booked. */
function apply(scene: Scene, stop: readonly Item[], start: readonly Item[]): void {
  const { picking, victims } = scene;
  picking.roomTokens += freed(scene, stop);
  picking.slots += stop.length;
  for (const { group } of stop) {
    if (group.scratch.chargeTokens > 0 || start.some((item) => item.group === group) || !lastOf(scene, group, stop)) continue;
    group.scratch.chargeTokens = prefixTokens(scene, group);
    picking.roomTokens += group.scratch.chargeTokens;
  }
  for (const item of stop) victims.add(item);
  for (const item of start) take(picking, item);
}
