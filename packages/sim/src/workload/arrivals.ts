import type { Rng } from "../rng.ts";
import { substream, unitMeanGamma } from "./random.ts";

/** When tasks arrive. All but `replay` and `together` are drawn at rate 1 and stretched, so another rate keeps the pattern. */
export type Arrival =
  | { readonly kind: "poisson" }
  /** Rate times 1 + amplitude * sin(2 pi t / period): smooth gaps, slow swings (Azure 2023 conversation). */
  | { readonly kind: "drift"; readonly amplitude: number; readonly periodSeconds: number }
  /** Gamma gaps of this coefficient of variation (families per client: ServeGen, arXiv 2505.09999). */
  | { readonly kind: "gamma"; readonly cv: number }
  /** Poisson while on, nothing while off; phases uniform between their ends (Azure 2023 code). */
  | { readonly kind: "onOff"; readonly onSeconds: readonly [number, number]; readonly offSeconds: readonly [number, number] }
  /** Groups within about a second. */
  | { readonly kind: "batch"; readonly size: number; readonly withinSeconds: number }
  | { readonly kind: "together" }
  | { readonly kind: "replay"; readonly seconds: readonly number[]; readonly timeScale?: number };

export const ARRIVALS = {
  poisson: { kind: "poisson" },
  drift: { kind: "drift", amplitude: 0.6, periodSeconds: 600 },
  "gamma-3": { kind: "gamma", cv: 3 },
  "gamma-6": { kind: "gamma", cv: 6 },
  "gamma-8": { kind: "gamma", cv: 8 },
  "on-off": { kind: "onOff", onSeconds: [18, 120], offSeconds: [60, 240] },
  "batch-8": { kind: "batch", size: 8, withinSeconds: 1 },
  together: { kind: "together" },
} as const satisfies Record<string, Arrival>;

export type ArrivalName = keyof typeof ARRIVALS;

/** Ascending arrival times of `count` tasks at this mean rate, starting near zero. */
export function arrivalSeconds(arrival: Arrival, count: number, ratePerSecond: number, rng: Rng): number[] {
  const gaps = substream(rng, "gaps");
  const unit = (gap: () => number): number[] => {
    let at = 0;
    return Array.from({ length: count }, () => (at += gap()));
  };
  switch (arrival.kind) {
    case "poisson":
      return unit(() => gaps.exponential(1)).map((at) => at / ratePerSecond);
    case "gamma":
      return unit(() => unitMeanGamma(gaps, 1 / arrival.cv ** 2)).map((at) => at / ratePerSecond);
    case "drift":
      return unit(() => gaps.exponential(1)).map((at) => invertDrift(arrival, at / ratePerSecond));
    case "onOff":
      return onOffTimes(
        arrival,
        unit(() => gaps.exponential(1)),
        ratePerSecond,
        substream(rng, "phases"),
      );
    case "batch": {
      const inside = substream(rng, "inside");
      const starts = unit(() => gaps.exponential(1)).map((at) => (at * arrival.size) / ratePerSecond);
      return Array.from(
        { length: count },
        (_, i) => starts[Math.floor(i / arrival.size)]! + inside.float() * arrival.withinSeconds,
      ).toSorted((a, b) => a - b);
    }
    case "together":
      return Array.from({ length: count }, () => 0);
    case "replay": {
      if (arrival.seconds.length < count)
        throw new RangeError(`arrival replay has ${arrival.seconds.length} times, ${count} tasks need one each`);
      const sorted = arrival.seconds.toSorted((a, b) => a - b).slice(0, count);
      return sorted.map((at) => (at - sorted[0]!) * (arrival.timeScale ?? 1));
    }
  }
}

/** t with t + a P / 2 pi * (1 - cos(2 pi t / P)) = work, by bisection: the left side grows with t for a < 1. */
function invertDrift({ amplitude, periodSeconds }: Extract<Arrival, { kind: "drift" }>, work: number): number {
  const turn = (2 * Math.PI) / periodSeconds;
  let low = 0;
  let high = work;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (middle + (amplitude / turn) * (1 - Math.cos(turn * middle)) < work) low = middle;
    else high = middle;
  }
  return high;
}

function onOffTimes(
  arrival: Extract<Arrival, { kind: "onOff" }>,
  unit: readonly number[],
  ratePerSecond: number,
  phases: Rng,
): number[] {
  const between = ([low, high]: readonly [number, number]): number => low + (high - low) * phases.float();
  const middle = ([low, high]: readonly [number, number]): number => (low + high) / 2;
  const duty = middle(arrival.onSeconds) / (middle(arrival.onSeconds) + middle(arrival.offSeconds));
  const onRate = ratePerSecond / duty;
  let idle = 0;
  let on = 0;
  let until = between(arrival.onSeconds);
  return unit.map((at) => {
    on = at / onRate;
    while (on > until) {
      idle += between(arrival.offSeconds);
      until += between(arrival.onSeconds);
    }
    return on + idle;
  });
}
