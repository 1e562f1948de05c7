import type { EntryId } from "../events.ts";
import type { KeyOrder, PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import { matchTokens, type View } from "../view.ts";
import { byReady, sortedByTask } from "./compare.ts";

type LpmOptions = Pick<PolicyOptions, "fallbackAbove" | "inBatchRule">;

/** Longest prefix match, ties by queue order; above `fallbackAbove` waiting it is fcfs (SGLang). */
export function lpm(options: LpmOptions): KeyOrder {
  return {
    kind: "keys",
    id: "lpm",
    timeVarying: false,
    residencyBound: true,
    sort: (view, queue, incoming) => sortByMatch(view, queue.toSorted(byReady), incoming, options),
  };
}

/** Longest prefix match, ties by task arrival; the fallback is task-fcfs. */
export function lpmTask(options: LpmOptions): KeyOrder {
  return {
    kind: "keys",
    id: "lpm-task",
    timeVarying: false,
    residencyBound: true,
    sort: (view, queue, incoming) => sortByMatch(view, sortedByTask(view, queue), incoming, options),
  };
}

function sortByMatch(
  view: View,
  queue: readonly RequestState[],
  incoming: ReadonlySet<EntryId>,
  options: LpmOptions,
): readonly RequestState[] {
  if (queue.length > options.fallbackAbove) return queue;
  const match = new Map(queue.map((request) => [request, matchTokens(view, request, incoming)]));
  if (options.inBatchRule) demoteSharers(queue, match);
  return queue.toSorted((a, b) => match.get(b)! - match.get(a)!);
}

/** A request that matches at most 32 tokens and shares at least 32 with an earlier waiting one goes last (SGLang). */
function demoteSharers(queue: readonly RequestState[], match: Map<RequestState, number>): void {
  const seen = new Set<EntryId>();
  for (const request of queue) {
    if (request.prefix === null || match.get(request)! > 32) continue;
    if (seen.has(request.prefix) && request.spec.prefix!.tokens >= 32) match.set(request, -1);
    seen.add(request.prefix);
  }
}
