import type { CompiledGraph } from "../graph/compile.ts";
import type { RequestState, TaskState } from "../state.ts";
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
  readonly task: TaskState | undefined;
  readonly graph: CompiledGraph | null;
  readonly arrival: number;
  readonly topo: number;
}

/** Keys are constant while a task keeps its graph, so they stay beside the request from one decision to the next. */
const taskKeys = new WeakMap<RequestState, TaskKey>();

function taskKey(view: View, request: RequestState): TaskKey {
  const known = taskKeys.get(request);
  if (known !== undefined && (known.task?.graph ?? null) === known.graph) return known;
  const task = view.state.tasks.get(request.spec.task);
  const graph = task?.graph ?? null;
  const key: TaskKey = {
    request,
    task,
    graph,
    arrival: task?.arrivalSeconds ?? request.readySeconds,
    topo: graph?.topoIndex.get(request.spec.stage) ?? 0,
  };
  taskKeys.set(request, key);
  return key;
}

/** A queue in that order, each key read once: what long queues are sorted with. */
export function sortedByTask(view: View, queue: readonly RequestState[]): RequestState[] {
  const keyed: TaskKey[] = [];
  for (const request of queue) keyed.push(taskKey(view, request));
  keyed.sort(compareTaskKeys);
  return keyed.map(({ request }) => request);
}

function compareTaskKeys(a: TaskKey, b: TaskKey): number {
  if (a.arrival !== b.arrival) return a.arrival - b.arrival;
  const [left, right] = [a.request.spec.task, b.request.spec.task];
  if (left !== right) return left < right ? -1 : 1;
  return a.topo - b.topo || byId(a.request, b.request);
}
