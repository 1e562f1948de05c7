import { historyOf } from "../history.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import { matchTokens, type View } from "../view.ts";
import { byId, byReady } from "./compare.ts";
import { keyOrder } from "./key-order.ts";

/**
 * Highest response ratio next in tokens (sglang#32911; vector V20): (prompt tokens processed since it arrived) / u, u its
 * uncached tokens; nothing uncached goes first; ties by id; above `fallbackAbove` waiting fcfs.
 */
export function hrrn(options: AllOptions): KeyOrder {
  return {
    kind: "keys",
    id: "hrrn",
    timeVarying: false,
    residencyBound: true,
    sort(view, queue, incoming) {
      if (queue.length > options.fallbackAbove) return queue.toSorted(byReady);
      const ratio = new Map(
        queue.map((request) => {
          const whole = (request.spec.prefix?.tokens ?? 0) + request.spec.ownPromptTokens;
          return [request, responseRatio(processedTokens(view, request), whole - matchTokens(view, request, incoming))];
        }),
      );
      return queue.toSorted((a, b) => descending(ratio.get(a)!, ratio.get(b)!) || byId(a, b));
    },
  };
}

/** processed / uncached; Infinity when nothing is uncached. */
export function responseRatio(processed: number, uncached: number): number {
  return uncached <= 0 ? Infinity : processed / uncached;
}

function descending(a: number, b: number): number {
  return a === b ? 0 : b > a ? 1 : -1;
}

/** Prompt tokens processed since the request became ready; without a history: those of the calls admitted since that still run. */
export function processedTokens(view: View, request: RequestState): number {
  const history = historyOf(view.state);
  const mark = history?.calls.get(request.spec.id)?.prefilledMark;
  if (history !== null && mark !== undefined) return history.prefilledTokens - mark;
  return view.running.reduce((sum, other) => sum + (other.admitSeq > request.readySeq ? other.filledTokens : 0), 0);
}

/** 1 + wait / s(q, o), largest first, seconds. */
export const hrrnSeconds: KeyOrder = keyOrder(
  "hrrn-s",
  { timeVarying: true },
  (view) => (request) =>
    -(1 + Math.max(0, view.nowSeconds - request.readySeconds) / Math.max(1e-9, view.estimator.callServiceSeconds(request))),
);

/** 1 + (t - tau_i) / L_i, largest first: the response ratio of the whole task against its remaining path. */
export const hrrnTask: KeyOrder = keyOrder("hrrn-task", { timeVarying: true }, (view) => (request) => {
  const age = Math.max(0, view.nowSeconds - view.taskArrivalSeconds(request));
  return -(1 + age / Math.max(1e-9, view.path(request.spec.task)?.seconds() ?? 0));
});
