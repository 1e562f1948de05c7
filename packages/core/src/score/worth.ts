import type { TaskPath } from "../graph/path.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { View } from "../view.ts";
import { jointDeltas } from "./joint-deltas.ts";

/** Seconds that one whole remaining path counts as (topas-share), and per token-second of remaining area (topas-area). */
const PATH_SHARE_SECONDS = 60;
const AREA_SHARE = 48_000;

export interface Worth {
  /** Delta(r | H) = L_i(H) - L_i(H + stage(r)) >= 0 of several requests of one task, Eq. 6, seconds. */
  deltas(task: TaskState, path: TaskPath, requests: readonly RequestState[], completed: ReadonlySet<string>): ArrayLike<number>;
  /** Seconds of path as they enter J_admit: themselves, or their share of what the task has left. */
  value(task: TaskState, path: TaskPath, seconds: number): number;
}

export function createWorth(view: View, options: PolicyOptions): Worth {
  const { roundGain } = options;
  return {
    deltas(task, path, requests, completed) {
      if (roundGain === "stage") {
        const { slots } = view.estimator.lengths(task);
        const asked = requests.map((request) => slots.get(request.spec.stage) ?? -1);
        const done = new Set<number>();
        for (const id of completed) done.add(slots.get(id) ?? -1);
        const fast = jointDeltas(view.estimator.jointPath(task), asked, (slot) => done.has(slot));
        if (fast !== null) return fast;
      }
      const isDone = completed.size === 0 ? undefined : (id: string): boolean => completed.has(id);
      return requests.map((request) => path.delta(request.spec.stage, isDone, roundGain));
    },
    value(task, path, seconds) {
      if (options.value === "seconds") return seconds;
      if (options.value === "pathShare") {
        const left = path.seconds();
        return left > 0 ? (PATH_SHARE_SECONDS * seconds) / left : 0;
      }
      const area = view.estimator.remainingAreaTokenSeconds(task);
      return area > 0 ? (AREA_SHARE * seconds) / area : 0;
    },
  };
}
