import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { agingFactor } from "./aging.ts";
import { createWeights, keptShare, gainsLast, type Weight } from "./weights.ts";
import { createWorth } from "./worth.ts";

/** gain(r | H) of Eq. 6, 7 and 12 for the tasks of one decision; H = stages of the same task already taken. */
export interface Gains {
  /** Seconds by which taking r now is worth it, aged: what the greedy choice compares. */
  gain(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** The same before aging: max(gainFloor * E[Z_r], Delta(r | H)). */
  base(request: RequestState, completed: ReadonlySet<string> | undefined): number;
  /** `base` of several requests of one task at once. */
  bases(requests: readonly RequestState[], completed: ReadonlySet<string>): Float64Array;
  /** What is known of a request when nothing of its task is taken. */
  weight(request: RequestState): Weight;
  /** The same for a whole queue, in order; to be read before the next call. */
  weights(queue: readonly RequestState[]): readonly Weight[];
  /** g_i of a task that arrived then. */
  ageOf(arrivalSeconds: number): number;
  /** g_i now over g_i when the running request was admitted. */
  ageSince(request: RequestState): number;
  /** What one second of base adds to J_admit and to the credit: g_i, or 1 when aging is symmetric. */
  credit(age: number): number;
  /** Whether `base` stays as it is until the task has an event, for everyone with the same `scope`. */
  readonly lasting: boolean;
  readonly scope: PolicyOptions;
}

export function createGains(view: View, options: PolicyOptions): Gains {
  const { of: weight, ofAll: weights } = createWeights(view, options);
  const worth = createWorth(view, options);
  const { rho, gainFloor } = options;
  const scale = options.ageScale * view.state.ageScale.seconds;
  const ageOf = (arrivalSeconds: number): number => (rho === 0 ? 1 : agingFactor(rho, view.nowSeconds - arrivalSeconds, scale));
  const bases: Gains["bases"] = (requests, completed) => {
    const out = new Float64Array(requests.length);
    const { task } = weight(requests[0]!);
    if (task === null) return out;
    const path = view.path(task.id)!;
    const deltas = worth.deltas(task, path, requests, completed);
    for (let i = 0; i < requests.length; i++) {
      const whole = path.residual(requests[i]!.spec.stage);
      const kept = keptShare(view, options, requests[i]!, whole);
      out[i] = kept * worth.value(task, path, Math.max(gainFloor * whole, deltas[i]!));
    }
    return out;
  };
  const base: Gains["base"] = (request, completed) =>
    completed === undefined || completed.size === 0 ? weight(request).base : bases([request], completed)[0]!;
  return {
    base,
    bases,
    weight,
    weights,
    ageOf,
    ageSince(request) {
      const { arrival } = weight(request);
      const admitted = request.admittedSeconds ?? view.nowSeconds;
      return rho === 0 ? 1 : ageOf(arrival) / agingFactor(rho, admitted - arrival, scale);
    },
    gain: (request, completed) => ageOf(weight(request).arrival) * base(request, completed),
    credit: options.ageTerms === "all" ? () => 1 : (age) => age,
    lasting: gainsLast(options),
    scope: options,
  };
}
