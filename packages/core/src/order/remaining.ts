import { overran } from "../graph/ahead.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { keyOrder } from "./key-order.ts";

/** L_i(0), seconds: remaining path of the request's task, at least what its call shows (K68); a forgotten task counts its call. */
export function pathSeconds(view: View, request: RequestState): number {
  const path = view.path(request.spec.task)?.seconds();
  if (path === undefined) return view.estimator.callServiceSeconds(request);
  return Math.max(path, view.estimator.callSecondsAhead(request));
}

/** W_i, token-seconds: remaining KV area of the request's task; a forgotten task counts its call. */
export function areaTokenSeconds(view: View, request: RequestState): number {
  const task = view.state.tasks.get(request.spec.task);
  return task === undefined ? view.estimator.callAreaTokenSeconds(request) : view.estimator.remainingAreaTokenSeconds(task);
}

/** Shortest remaining path first: L_i(0). On a chain of fixed lengths this is SRPT. */
export const spf: KeyOrder = keyOrder("spf", {}, (view) => (request) => pathSeconds(view, request));

/** Critical (longest) path first: -L_i(0); a control known to be bad for mean completion. */
export const cpFirst: KeyOrder = keyOrder("cp-first", {}, (view) => (request) => -pathSeconds(view, request));

/** Shortest remaining work in KV area first: W_i. */
export const srptW: KeyOrder = keyOrder("srpt-w", {}, (view) => (request) => areaTokenSeconds(view, request));

/** W_i / (1 + (t - tau_i)/H_age): remaining area, discounted by age; a task past its declared rounds has none (K68). */
export const srptWAge: KeyOrder = keyOrder("srpt-w-age", { timeVarying: true }, (view) => {
  const scale = pathScaleSeconds(view);
  return (request) => {
    const task = view.state.tasks.get(request.spec.task);
    if (task !== undefined && overran(task)) return areaTokenSeconds(view, request);
    const age = Math.max(0, view.nowSeconds - view.taskArrivalSeconds(request));
    return areaTokenSeconds(view, request) / (1 + age / scale);
  };
});

/** H_age, seconds, floor 1: moving mean of completed tasks' service; before the first completion, mean L of the live tasks. */
export function pathScaleSeconds(view: View): number {
  const { completed, seconds } = view.state.ageScale;
  if (completed > 0) return Math.max(1, seconds);
  let sum = 0;
  let tasks = 0;
  for (const task of view.state.tasks.values()) {
    if (task.done) continue;
    sum += view.path(task.id)?.seconds() ?? 0;
    tasks += 1;
  }
  return Math.max(1, tasks === 0 ? 1 : sum / tasks);
}
