import { decayed, historyOf, SERVICE_HALF_LIFE } from "../history.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { keyOrder } from "./key-order.ts";

/**
 * Program-aware fairness of llm-d-router: descending 0.8 x (1 - norm svc) + 0.2 x norm head wait; svc = input + 2 x output
 * tokens of the program's completed calls with half-life 60 s, norms min-max over the queues.
 */
export const lasDecay: KeyOrder = keyOrder("las-decay", { timeVarying: true, residencyBound: true }, (view, queue) => {
  const service = new Map<string, number>();
  const headWait = new Map<string, number>();
  for (const request of queue) {
    const { task } = request.spec;
    if (!service.has(task)) service.set(task, serviceTokens(view, request));
    headWait.set(task, Math.max(headWait.get(task) ?? 0, view.nowSeconds - request.readySeconds));
  }
  const normService = normal([...service.values()]);
  const normWait = normal([...headWait.values()]);
  return (request) => {
    const { task } = request.spec;
    return -(0.8 * (1 - normService(service.get(task)!)) + 0.2 * normWait(headWait.get(task)!));
  };
});

/** Min-max to [0, 1]; all equal: 0. */
function normal(values: readonly number[]): (value: number) => number {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity);
  const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return (value) => (high > low ? (value - low) / (high - low) : 0);
}

/** Without a history: the task's attained service, in tokens of decoding, not decayed. */
function serviceTokens(view: View, request: RequestState): number {
  const history = historyOf(view.state);
  if (history !== null) return decayed(history.tasks.get(request.spec.task)?.service, view.nowSeconds, SERVICE_HALF_LIFE);
  const attained = view.state.tasks.get(request.spec.task)?.attainedSeconds ?? 0;
  return (2 * attained) / Math.max(1e-9, view.state.config.speeds.decodeSecondsPerToken);
}
