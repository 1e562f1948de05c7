import type { Rng } from "@topas/sim";
import { mean, quantile } from "./describe.ts";

/** One seed: the candidate's figure and the baseline's on the identical workload. */
export type Pair = readonly [candidate: number, baseline: number];

export interface RatioInterval {
  /** Mean of the candidate over mean of the baseline. */
  readonly ratio: number;
  readonly ci95: readonly [low: number, high: number];
  readonly pairs: number;
}

export function ratioOfMeans(pairs: readonly Pair[]): number {
  return mean(pairs.map(([candidate]) => candidate)) / mean(pairs.map(([, baseline]) => baseline));
}

/**
 * Paired bootstrap of the ratio of means: seeds are drawn with replacement, both figures of a seed together. The percentiles are
 * widened for few seeds (expanded percentile interval, Hesterberg 2015): five seeds resampled as they are cover far less than
 * 95 %. One pair says nothing: the interval is then everything.
 */
export function bootstrapRatio(pairs: readonly Pair[], rng: Rng, resamples = 2_000): RatioInterval {
  const n = pairs.length;
  const ratio = ratioOfMeans(pairs);
  if (n < 2) return { ratio, ci95: [0, Number.MAX_VALUE], pairs: n };
  const draws = Array.from({ length: resamples }, () => ratioOfMeans(Array.from({ length: n }, () => pairs[rng.int(n)]!)));
  const tail = expandedTail(n);
  const [low, high] = [quantile(draws, tail), quantile(draws, 1 - tail)];
  const half = n < FEW ? tHalfWidth(pairs) : 0;
  return { ratio, ci95: [Math.min(low, ratio * Math.exp(-half)), Math.max(high, ratio * Math.exp(half))], pairs: n };
}

/** Below this many seeds resampling cannot leave the range of what was seen; the interval then holds the t interval too. */
const FEW = 8;

/** Half width of the t interval of the mean log ratio. */
function tHalfWidth(pairs: readonly Pair[]): number {
  const logs = pairs.map(([candidate, baseline]) => Math.log(candidate / baseline));
  const centre = mean(logs);
  const variance = logs.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (logs.length - 1);
  return Math.min(700, T975[logs.length - 2]! * Math.sqrt(variance / logs.length));
}

/** t quantiles at 97.5 % for 1, 2, ... degrees of freedom; beyond the table a normal one is near enough. */
const T975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101,
  2.093, 2.086,
];

/** Normal tail beyond sqrt(n / (n - 1)) times the t quantile of n - 1 degrees. */
export function expandedTail(n: number): number {
  const t = T975[n - 2] ?? 1.96 + 2.5 / n;
  return normalTail(Math.sqrt(n / (n - 1)) * t);
}

/** P(Z > z), Abramowitz and Stegun 26.2.17, absolute error below 1e-7. */
function normalTail(z: number): number {
  const k = 1 / (1 + 0.2316419 * z);
  const poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly;
}
