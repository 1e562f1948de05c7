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

interface TaskKey {
  readonly request: RequestState;
  readonly arrival: number;
  readonly topo: number;
}

/** A queue in that order, each key read once: what long queues are sorted with. */
export function sortedByTask(view: View, queue: readonly RequestState[]): RequestState[] {
  const keyed = queue.map((request): TaskKey => {
    const task = view.state.tasks.get(request.spec.task);
    const arrival = task?.arrivalSeconds ?? request.readySeconds;
    return { request, arrival, topo: task?.graph?.topoIndex.get(request.spec.stage) ?? 0 };
  });
  keyed.sort(compareTaskKeys);
  return keyed.map(({ request }) => request);
}

function compareTaskKeys(a: TaskKey, b: TaskKey): number {
  if (a.arrival !== b.arrival) return a.arrival - b.arrival;
  const [left, right] = [a.request.spec.task, b.request.spec.task];
  if (left !== right) return left < right ? -1 : 1;
  return a.topo - b.topo || byId(a.request, b.request);
}
