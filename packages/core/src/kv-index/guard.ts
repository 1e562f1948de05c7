import type { PolicyOptions } from "../policy/policy.ts";
import { rests } from "./admissible.ts";
import type { Item } from "./item.ts";
import type { KvIndex } from "./store.ts";

/** The request skipped longest and the reservation that bounds skipping it (algorithm 1.5, fit guarded). */
export interface Guard {
  readonly item: Item;
  /** Seconds from now at which expected completions make it fit. */
  readonly shadowSeconds: number;
  /** Tokens left over at that time; backfill that outlasts it pays from here. */
  extraTokens: number;
}

/** Marks only grow along the queue but for the few that once came back, so the oldest is among the first ones. */
const QUEUE_HEAD = 64;

/** `staying`: running and admitted, longest remaining first. */
export function findGuard(
  index: KvIndex,
  options: PolicyOptions,
  staying: readonly Item[],
  roomTokens: number,
  nowSeconds: number,
): Guard | null {
  const oldest = skippedLongest(index, nowSeconds);
  if (oldest === null) return null;
  const hold = options.holdSeconds ?? Math.max(10, 2 * oldest.endSeconds);
  if (nowSeconds - oldest.request.skippedSinceSeconds! <= hold) return null;
  return reserve(index, oldest, staying, roomTokens);
}

function skippedLongest(index: KvIndex, nowSeconds: number): Item | null {
  let oldest: Item | null = null;
  let looked = 0;
  for (const item of index.queue) {
    if (looked++ >= QUEUE_HEAD) break;
    const { request } = item;
    const since = request.skippedSinceSeconds;
    if (since === null || item.takenIn === index.decisions || rests(request, nowSeconds) || item.group.scratch.evicting) continue;
    const best = oldest?.request;
    if (
      best === undefined ||
      since < best.skippedSinceSeconds! ||
      (since === best.skippedSinceSeconds && request.readySeq < best.readySeq)
    )
      oldest = item;
  }
  return oldest;
}

/** Earliest expected completions, ascending x, until the request fits with what they give back. */
function reserve(index: KvIndex, item: Item, staying: readonly Item[], roomTokens: number): Guard {
  const cost = item.needTokens + item.group.scratch.chargeTokens;
  const h = index.state.config.speeds.decodeSecondsPerToken;
  let free = roomTokens;
  let shadow = 0;
  for (const ending of staying) ending.group.scratch.leaving = 0;
  for (const ending of staying) ending.group.scratch.leaving += 1;
  for (let i = staying.length - 1; i >= 0 && cost > free; i--) {
    const ending = staying[i]!;
    free += ending.waits ? ending.needTokens : ending.request.promisedTokens;
    shadow = ending.leftTokens * h;
    const { group } = ending;
    group.scratch.leaving -= 1;
    if (group.scratch.leaving === 0 && group !== item.group && group.prefix !== null)
      free += index.state.entries.get(group.prefix)?.tokens ?? 0;
  }
  return { item, shadowSeconds: shadow, extraTokens: Math.max(0, free - cost) };
}
