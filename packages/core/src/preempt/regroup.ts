import type { Item } from "../kv-index/item.ts";
import type { Preempt } from "../policy/policy.ts";
import { generatedTokens, type RequestState, type State } from "../state.ts";

/** Limits of a voluntary swap (algorithm 5.7). */
const SETTLED_SECONDS = 4;
const MOST_SWAPS = 3;
const LEAST_LEFT_TOKENS = 24;

/** Swaps of running requests for better waiting ones; only an index asks for them, and only of engines that swap. */
export const regroup: Preempt = {
  id: "regroup",
  voluntary: true,
  eligible: (view, request) =>
    movable(view.state, request, view.estimator.remainingTokens(request), view.nowSeconds) && view.state.config.redo === "swap",
};

/** Decoding, admitted long enough ago, not swapped too often, not about to end, and its prefix never to be computed again. */
export function movable(state: State, request: RequestState, leftTokens: number, nowSeconds: number): boolean {
  if (generatedTokens(request) <= 0 || request.admittedSeconds === null || request.swappedTokens > 0) return false;
  if (nowSeconds - request.admittedSeconds < SETTLED_SECONDS || request.preemptions >= MOST_SWAPS) return false;
  if (leftTokens < LEAST_LEFT_TOKENS) return false;
  if (request.prefix === null || state.config.hostTier) return true;
  return state.entries.get(request.prefix)?.onHost === true;
}

export function movableItem(state: State, item: Item, nowSeconds: number): boolean {
  return !item.waits && movable(state, item.request, item.leftTokens, nowSeconds);
}
