import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { agingFactor } from "./aging.ts";
import { createWorth } from "./worth.ts";

/** gain(r | H) of Eq. 6, 7 and 12 for the tasks of one decision; H = stages of the same task already taken. */
export interface Gains {
  /** Seconds by which taking r now is worth it, aged: what the greedy choice compares. */
  gain(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** The same before aging: max(gainFloor * E[Z_r], Delta(r | H)). */
  base(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** No H lets `base` exceed this: Delta(r | H) <= E[Z_r]. */
  upper(request: RequestState): number;
  /** g_i of its task. */
  age(request: RequestState): number;
  /** What one second of base adds to J_admit and to the credit: g_i, or 1 when aging is symmetric. */
  credit(request: RequestState): number;
}

export function createGains(view: View, options: PolicyOptions): Gains {
  const worth = createWorth(view, options);
  const scale = options.ageScale * view.state.ageScale.seconds;
  const age = (request: RequestState): number =>
    options.rho === 0 ? 1 : agingFactor(options.rho, view.nowSeconds - view.taskArrivalSeconds(request), scale);
  const base: Gains["base"] = (request, completed) => {
    const path = view.path(request.spec.task);
    if (path === null) return 0;
    const delta = worth.delta(path, request, completed);
    return worth.value(path, request, Math.max(options.gainFloor * path.residual(request.spec.stage), delta));
  };
  return {
    base,
    age,
    gain: (request, completed) => age(request) * base(request, completed),
    credit: options.ageTerms === "all" ? () => 1 : age,
    upper(request) {
      const path = view.path(request.spec.task);
      if (path === null) return 0;
      return worth.value(path, request, Math.max(1, options.gainFloor) * path.residual(request.spec.stage));
    },
  };
}
