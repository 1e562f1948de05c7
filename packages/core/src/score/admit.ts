import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { View } from "../view.ts";
import { agingFactor } from "./aging.ts";
import { createWeights, gainsLast } from "./weights.ts";
import { createWorth } from "./worth.ts";

/** gain(r | H) of Eq. 6, 7 and 12 for the tasks of one decision; H = stages of the same task already taken. */
export interface Gains {
  /** Seconds by which taking r now is worth it, aged: what the greedy choice compares. */
  gain(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** The same before aging: max(gainFloor * E[Z_r], Delta(r | H)). */
  base(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** `base` of several requests of one task at once; those of `skip` stay 0. */
  bases(requests: readonly RequestState[], skip: Uint8Array, completed: ReadonlySet<string>): Float64Array;
  /** No H lets `base` exceed this. */
  upper(request: RequestState): number;
  /** g_i of its task. */
  age(request: RequestState): number;
  /** What one second of base adds to J_admit and to the credit: g_i, or 1 when aging is symmetric. */
  credit(age: number): number;
  taskOf(request: RequestState): TaskState | null;
  /** Whether `base` stays as it is until the task has an event, for everyone with the same `scope`. */
  readonly lasting: boolean;
  readonly scope: PolicyOptions;
}

export function createGains(view: View, options: PolicyOptions): Gains {
  const weightOf = createWeights(view, options);
  const worth = createWorth(view, options);
  const { rho, gainFloor } = options;
  const scale = options.ageScale * view.state.ageScale.seconds;
  const age = (request: RequestState): number => {
    if (rho === 0) return 1;
    const arrival = weightOf(request).task?.arrivalSeconds ?? request.readySeconds;
    return agingFactor(rho, view.nowSeconds - arrival, scale);
  };
  const base: Gains["base"] = (request, completed) => {
    if (completed === undefined || completed.size === 0) return weightOf(request).base;
    const path = view.path(request.spec.task);
    if (path === null) return 0;
    const delta = worth.delta(path, request, completed);
    return worth.value(path, request, Math.max(gainFloor * path.residual(request.spec.stage), delta));
  };
  return {
    base,
    age,
    gain: (request, completed) => age(request) * base(request, completed),
    bases(requests, skip, completed) {
      const out = new Float64Array(requests.length);
      const path = view.path(requests[0]!.spec.task);
      if (path === null) return out;
      const deltaOf = worth.deltas(path, completed);
      for (let i = 0; i < requests.length; i++) {
        if (skip[i] === 1) continue;
        const request = requests[i]!;
        out[i] = worth.value(path, request, Math.max(gainFloor * path.residual(request.spec.stage), deltaOf(request)));
      }
      return out;
    },
    upper: (request) => weightOf(request).upper,
    credit: options.ageTerms === "all" ? () => 1 : (factor) => factor,
    taskOf: (request) => weightOf(request).task,
    lasting: gainsLast(options),
    scope: options,
  };
}
