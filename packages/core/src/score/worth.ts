import type { TaskPath } from "../graph/path.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** Seconds that one whole remaining path counts as (topas-share), and per token-second of remaining area (topas-area). */
const PATH_SHARE_SECONDS = 60;
const AREA_SHARE = 48_000;

export interface Worth {
  /** Delta(r | H) = L_i(H) - L_i(H + stage(r)) >= 0, Eq. 6, seconds. */
  delta(path: TaskPath, request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** Delta(. | H) for several requests of one task; L_i(H) is worked out once. */
  deltas(path: TaskPath, completed: ReadonlySet<string>): (request: RequestState) => number;
  /** Seconds of path as they enter J_admit: themselves, or their share of what the task has left. */
  value(path: TaskPath, request: RequestState, seconds: number): number;
}

export function createWorth(view: View, options: PolicyOptions): Worth {
  return {
    delta: (path, request, completed) =>
      path.delta(request.spec.stage, completed === undefined ? undefined : (id) => completed.has(id), options.roundGain),
    deltas(path, completed) {
      const isDone = (id: string): boolean => completed.has(id);
      if (options.roundGain === "call") return (request) => path.delta(request.spec.stage, isDone, "call");
      const before = path.seconds(isDone);
      return ({ spec: { stage } }) =>
        completed.has(stage) ? 0 : Math.max(0, before - path.seconds((id) => id === stage || completed.has(id)));
    },
    value(path, request, seconds) {
      if (options.value === "seconds") return seconds;
      if (options.value === "pathShare") {
        const left = path.seconds();
        return left > 0 ? (PATH_SHARE_SECONDS * seconds) / left : 0;
      }
      const task = view.state.tasks.get(request.spec.task);
      const area = task === undefined ? 0 : view.estimator.remainingAreaTokenSeconds(task);
      return area > 0 ? (AREA_SHARE * seconds) / area : 0;
    },
  };
}
