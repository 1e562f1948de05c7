import type { Rng } from "../rng.ts";
import { geometric, pick } from "./random.ts";

/** A distribution as data: of tokens, seconds or counts, as the place that holds it says. */
export type Distribution =
  | { readonly kind: "fixed"; readonly value: number }
  | { readonly kind: "uniform"; readonly low: number; readonly high: number }
  /** Whole numbers, both ends included. */
  | { readonly kind: "integer"; readonly low: number; readonly high: number }
  | { readonly kind: "lognormal"; readonly median: number; readonly sigma: number; readonly min?: number; readonly max?: number }
  /** Lognormal by its mean and coefficient of variation. */
  | { readonly kind: "spread"; readonly mean: number; readonly cv: number; readonly min?: number; readonly max?: number }
  | { readonly kind: "geometric"; readonly mean: number; readonly max: number }
  /** [probability, value] ascending; linear in the logarithm between points. */
  | { readonly kind: "quantiles"; readonly points: readonly (readonly [number, number])[] }
  | { readonly kind: "mixture"; readonly parts: readonly (readonly [weight: number, part: Distribution])[] }
  | { readonly kind: "pareto"; readonly least: number; readonly alpha: number; readonly max: number };

export const fixed = (value: number): Distribution => ({ kind: "fixed", value });
export const uniform = (low: number, high: number): Distribution => ({ kind: "uniform", low, high });
export const spread = (mean: number, cv: number, min = 1, max = Infinity): Distribution => ({
  kind: "spread",
  mean,
  cv,
  min,
  max,
});
export const lognormal = (median: number, sigma: number, min = 0, max = Infinity): Distribution => ({
  kind: "lognormal",
  median,
  sigma,
  min,
  max,
});

export function sample(distribution: Distribution, rng: Rng): number {
  switch (distribution.kind) {
    case "fixed":
      return distribution.value;
    case "uniform":
      return distribution.low + (distribution.high - distribution.low) * rng.float();
    case "integer":
      return distribution.low + rng.int(distribution.high - distribution.low + 1);
    case "lognormal":
      return clamp(rng.lognormal(distribution.median, distribution.sigma), distribution);
    case "spread": {
      const { median, sigma } = lognormalOf(distribution.mean, distribution.cv);
      return clamp(rng.lognormal(median, sigma), distribution);
    }
    case "geometric":
      return Math.min(distribution.max, geometric(rng, distribution.mean));
    case "quantiles":
      return atProbability(distribution.points, rng.float());
    case "mixture": {
      const weights = distribution.parts.map(([weight]) => weight);
      return sample(distribution.parts[pick(rng, weights)]![1], rng);
    }
    case "pareto":
      return Math.min(distribution.max, distribution.least * (1 - rng.float()) ** (-1 / distribution.alpha));
  }
}

/** Mean without clipping at min and max (a capped Pareto and a geometric: with it). */
export function meanOf(distribution: Distribution): number {
  switch (distribution.kind) {
    case "fixed":
      return distribution.value;
    case "uniform":
    case "integer":
      return (distribution.low + distribution.high) / 2;
    case "lognormal":
      return distribution.median * Math.exp(distribution.sigma ** 2 / 2);
    case "spread":
      return distribution.mean;
    case "geometric":
      return distribution.mean * (1 - (1 - 1 / distribution.mean) ** distribution.max);
    case "quantiles": {
      const steps = 2_000;
      let sum = 0;
      for (let i = 0; i < steps; i++) sum += atProbability(distribution.points, (i + 0.5) / steps);
      return sum / steps;
    }
    case "mixture": {
      const weight = distribution.parts.reduce((sum, [part]) => sum + part, 0);
      return distribution.parts.reduce((sum, [part, inner]) => sum + part * meanOf(inner), 0) / weight;
    }
    case "pareto": {
      const { least, alpha, max } = distribution;
      return (alpha * least - max * (least / max) ** alpha) / (alpha - 1);
    }
  }
}

/** The same kind of quantity, `factor` times as large. */
export function scaled(distribution: Distribution, factor: number): Distribution {
  switch (distribution.kind) {
    case "fixed":
      return fixed(distribution.value * factor);
    case "uniform":
    case "integer":
      return uniform(distribution.low * factor, distribution.high * factor);
    case "lognormal":
      return { ...distribution, median: distribution.median * factor, ...scaledEnds(distribution, factor) };
    case "spread":
      return { ...distribution, mean: distribution.mean * factor, ...scaledEnds(distribution, factor) };
    case "geometric":
      return { ...distribution, mean: distribution.mean * factor, max: distribution.max * factor };
    case "quantiles":
      return { kind: "quantiles", points: distribution.points.map(([p, value]) => [p, value * factor] as const) };
    case "mixture":
      return { kind: "mixture", parts: distribution.parts.map(([weight, part]) => [weight, scaled(part, factor)] as const) };
    case "pareto":
      return { ...distribution, least: distribution.least * factor, max: distribution.max * factor };
  }
}

function lognormalOf(mean: number, cv: number): { readonly median: number; readonly sigma: number } {
  const variance = Math.log(1 + cv * cv);
  return { median: mean * Math.exp(-variance / 2), sigma: Math.sqrt(variance) };
}

function clamp(value: number, ends: { readonly min?: number; readonly max?: number }): number {
  return Math.min(ends.max ?? Infinity, Math.max(ends.min ?? 0, value));
}

function scaledEnds(ends: { readonly min?: number; readonly max?: number }, factor: number): { min: number; max: number } {
  return { min: Math.min(1, (ends.min ?? 0) * factor), max: (ends.max ?? Infinity) * factor };
}

function atProbability(points: readonly (readonly [number, number])[], p: number): number {
  const above = points.findIndex(([q]) => q >= p);
  if (above === 0) return points[0]![1];
  if (above < 0) return points.at(-1)![1];
  const [p0, low] = points[above - 1]!;
  const [p1, high] = points[above]!;
  const share = (p - p0) / (p1 - p0);
  return low > 0 ? low * (high / low) ** share : low + (high - low) * share;
}
