import type { EstimatorOptions } from "../estimate/options.ts";
import type { TaskLengths } from "../estimate/task-lengths.ts";

/** Joint samples of the residuals of one task: `values[slot * count + m]` seconds with weight `weights[m]`. */
export interface JointSamples {
  readonly count: number;
  readonly values: Float64Array;
  /** null: equal weights. */
  readonly weights: Float64Array | null;
}

/**
 * Means only (`inside`); every combination of residual values when there are few (exact); else the frozen stratified rows,
 * shared, not copied (algorithm 2.5).
 */
export function jointSamples(lengths: TaskLengths, { samples, inside, exactUpTo }: EstimatorOptions): JointSamples {
  const slots = lengths.support.length;
  if (inside) return { count: 1, values: lengths.mean, weights: null };
  let combinations = 1;
  for (let slot = 0; slot < slots && combinations > 0; slot++) {
    const support = lengths.support[slot]!;
    combinations = support === null ? 0 : combinations * (support.length / 2);
    if (combinations > exactUpTo) combinations = 0;
  }
  if (combinations === 0) return { count: samples, values: lengths.rows, weights: null };
  return enumerate(lengths.support as Float64Array[], combinations);
}

function enumerate(supports: readonly Float64Array[], count: number): JointSamples {
  const values = new Float64Array(supports.length * count);
  const weights = new Float64Array(count).fill(1);
  let period = 1;
  supports.forEach((support, slot) => {
    const choices = support.length / 2;
    for (let m = 0; m < count; m++) {
      const choice = Math.floor(m / period) % choices;
      values[slot * count + m] = support[2 * choice]!;
      weights[m]! *= support[2 * choice + 1]!;
    }
    period *= choices;
  });
  return { count, values, weights: count === 1 ? null : weights };
}
