import type { Rng } from "./rng.ts";

export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return values.length === 0 ? Number.NaN : sum / values.length;
}

/** Sample standard deviation (n - 1). */
export function standardDeviation(values: ArrayLike<number>): number {
  const centre = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - centre) ** 2;
  return Math.sqrt(sum / (values.length - 1));
}

/** Quantile type 7 (linear between order statistics; the default of R and numpy) of values in any order. */
export function quantile(values: ArrayLike<number>, p: number): number {
  return quantileSorted(Float64Array.from(values).sort(), p);
}

export function quantileSorted(sorted: ArrayLike<number>, p: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * Math.min(1, Math.max(0, p));
  const low = Math.floor(at);
  const value = sorted[low]!;
  return low + 1 < sorted.length ? value + (at - low) * (sorted[low + 1]! - value) : value;
}

export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** Percentile bootstrap of a statistic of paired observations (one pair a seed or task). */
export function pairedBootstrap(
  pairs: readonly (readonly [number, number])[],
  statistic: (pairs: readonly (readonly [number, number])[]) => number,
  rng: Rng,
  resamples = 2_000,
  level = 0.95,
): Interval {
  const draws = Array.from({ length: resamples }, () => statistic(pairs.map(() => pairs[rng.int(pairs.length)]!)));
  const tail = (1 - level) / 2;
  return { estimate: statistic(pairs), low: quantile(draws, tail), high: quantile(draws, 1 - tail) };
}

export function weightedMean(values: ArrayLike<number>, weights: ArrayLike<number>): number {
  let sum = 0;
  let total = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i]! * weights[i]!;
    total += weights[i]!;
  }
  return sum / total;
}

/** Smallest value that at least the share `p` of the weight does not exceed. */
export function weightedQuantile(values: ArrayLike<number>, weights: ArrayLike<number>, p: number): number {
  const order = Array.from({ length: values.length }, (_, i) => i).sort((a, b) => values[a]! - values[b]! || a - b);
  let total = 0;
  for (const i of order) total += weights[i]!;
  let seen = 0;
  for (const i of order) {
    seen += weights[i]!;
    if (seen >= total * p) return values[i]!;
  }
  return Number.NaN;
}
