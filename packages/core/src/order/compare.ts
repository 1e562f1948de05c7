import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

export function byId(a: RequestState, b: RequestState): number {
  return a.spec.id < b.spec.id ? -1 : a.spec.id > b.spec.id ? 1 : 0;
}

/** Queue order: ready time, then id. */
export function byReady(a: RequestState, b: RequestState): number {
  return a.readySeconds - b.readySeconds || byId(a, b);
}

/** (tau_i, task id, topological index, id). */
export function byTask(view: View): (a: RequestState, b: RequestState) => number {
  return (a, b) =>
    view.taskArrivalSeconds(a) - view.taskArrivalSeconds(b) ||
    (a.spec.task < b.spec.task ? -1 : a.spec.task > b.spec.task ? 1 : 0) ||
    view.topoIndex(a) - view.topoIndex(b) ||
    byId(a, b);
}
