import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { agingFactor } from "./aging.ts";

/** gain(r | H) of Eq. 6, 7 and 12 for the tasks of one decision. */
export interface Gains {
  /** g_i * max(gainFloor * E[Z_r], Delta(r | H)), seconds; H = stages of the same task already taken. */
  gain(request: RequestState, completed: ReadonlySet<string> | undefined): number;
}

export function createGains(view: View, options: PolicyOptions): Gains {
  return {
    gain(request, completed) {
      const path = view.path(request.spec.task);
      if (path === null) return 0;
      const { stage } = request.spec;
      const before = completed === undefined ? path.seconds() : path.seconds((id) => completed.has(id));
      const after = path.seconds((id) => id === stage || completed?.has(id) === true);
      const delta = Math.max(0, before - after);
      const age = view.nowSeconds - view.taskArrivalSeconds(request);
      const g = agingFactor(options.rho, age, view.state.ageScale.seconds);
      return g * Math.max(options.gainFloor * path.residual(stage), delta);
    },
  };
}
