import type { KeyOrder } from "../policy/policy.ts";
import { sortedByTask } from "./compare.ts";

/** Task arrival order (Parrot-FCFS): (tau_i, task id, topological index, id). */
export const taskFcfs: KeyOrder = {
  kind: "keys",
  id: "task-fcfs",
  timeVarying: false,
  residencyBound: false,
  sort: (view, queue) => sortedByTask(view, queue),
};
