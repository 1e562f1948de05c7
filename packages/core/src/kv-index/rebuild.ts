import { compareNext, type Item } from "./item.ts";
import { keyFrom } from "./key.ts";
import { allOf, insert, newLine } from "./line.ts";
import type { KvIndex } from "./store.ts";

/** A second buffer under a new rate, filled a few keys per decision while the first one is still read (algorithm 5.4). */
export interface Rebuild {
  readonly ratePerSecond: number;
  readonly epochSeconds: number;
  readonly pending: readonly Item[];
  position: number;
}

/** H before any task has ended, and its floor (algorithm 5.1). */
export const START_JCT_SECONDS = 100;
const LEAST_JCT_SECONDS = 30;
const JCT_WEIGHT = 0.02;
/** H may move by this factor before the keys are made anew. */
const TOLERANCE = 1.5;
const KEYS_PER_DECISION = 64;

/** kappa/H per second, H at least 30 s. */
export function heldRate(kappa: number, jctSeconds: number): number {
  return kappa / Math.max(LEAST_JCT_SECONDS, jctSeconds);
}

/** A task has ended well after `seconds`. */
export function observeJct(index: KvIndex, seconds: number): void {
  if (seconds >= 0 && Number.isFinite(seconds)) index.jctSeconds += JCT_WEIGHT * (seconds - index.jctSeconds);
}

/** Starts a rebuild when H has moved too far, and carries one on; a bounded number of keys a call. */
export function advanceRebuild(index: KvIndex): void {
  if (index.rebuild === null) {
    const rate = heldRate(index.settings.kappa, index.jctSeconds);
    const moved = rate / index.ratePerSecond;
    if (!(moved >= TOLERANCE || moved <= 1 / TOLERANCE)) return;
    const pending = [...index.groups.values()].flatMap((group) => allOf(group.line));
    index.rebuild = { ratePerSecond: rate, epochSeconds: index.state.nowSeconds, pending, position: 0 };
  }
  const { rebuild } = index;
  const end = Math.min(rebuild.pending.length, rebuild.position + KEYS_PER_DECISION);
  for (; rebuild.position < end; rebuild.position++) {
    const item = rebuild.pending[rebuild.position]!;
    if (!item.waits || item.inNext) continue;
    item.nextKey = keyFrom(item.base, rebuild.ratePerSecond, item.arrivalSeconds - rebuild.epochSeconds);
    item.inNext = true;
    insert(item.group.next, item, compareNext);
  }
  if (rebuild.position >= rebuild.pending.length) swapBuffers(index, rebuild);
}

function swapBuffers(index: KvIndex, rebuild: Rebuild): void {
  for (const group of index.groups.values()) {
    group.line = group.next;
    group.next = newLine();
    for (const item of allOf(group.line)) {
      item.key = item.nextKey;
      item.inNext = false;
    }
  }
  for (const item of index.running)
    item.key = keyFrom(item.base, rebuild.ratePerSecond, item.arrivalSeconds - rebuild.epochSeconds);
  index.ratePerSecond = rebuild.ratePerSecond;
  index.epochSeconds = rebuild.epochSeconds;
  index.rebuild = null;
}
