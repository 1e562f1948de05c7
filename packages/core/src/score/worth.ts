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
  /** Seconds of path as they enter J_admit: themselves, or their share of what the task has left. */
  value(path: TaskPath, request: RequestState, seconds: number): number;
}

export function createWorth(view: View, options: PolicyOptions): Worth {
  return {
    delta: (path, request, completed) =>
      path.delta(request.spec.stage, completed === undefined ? undefined : (id) => completed.has(id), options.roundGain),
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
