import { describe, expect, it } from "vitest";
import { createRng } from "../rng.ts";
import { mean, quantile, standardDeviation } from "../stats.ts";
import { ARRIVALS, arrivalSeconds, type Arrival } from "./arrivals.ts";
import { fixed, meanOf, sample, scaled, spread, uniform, type Distribution } from "./distribution.ts";
import { geometric, substream, unitMeanGamma } from "./random.ts";
import { TOOL_WAITS } from "./tool-waits.ts";

const draws = (distribution: Distribution, n = 20_000): number[] => {
  const rng = createRng(5);
  return Array.from({ length: n }, () => sample(distribution, rng));
};
const gapsOf = (arrival: Arrival, n = 20_000): number[] => {
  const times = arrivalSeconds(arrival, n, 2, createRng(9));
  return times.slice(1).map((at, i) => at - times[i]!);
};
const cv = (values: readonly number[]): number => standardDeviation(values) / mean(values);

describe("streams", () => {
  it("first draws of neighbouring labels are independent", () => {
    const root = createRng(1);
    const first = Array.from({ length: 4_000 }, (_, i) => substream(root, `x/${i}`).float());
    expect(mean(first)).toBeCloseTo(0.5, 1);
    const pairs = first.slice(1).map((value, i) => (value - 0.5) * (first[i]! - 0.5));
    expect(Math.abs(mean(pairs)) * 12).toBeLessThan(0.06);
    const tenths = Array.from({ length: 10 }, (_, k) => first.filter((value) => Math.floor(value * 10) === k).length);
    expect(Math.min(...tenths)).toBeGreaterThan(330);
  });

  it("do not depend on what was drawn before", () => {
    const root = createRng(1);
    const before = substream(root, "a").float();
    root.float();
    expect(substream(root, "a").float()).toBe(before);
  });
});

describe("distributions", () => {
  it.each([
    ["fixed", fixed(3)],
    ["uniform", uniform(2, 6)],
    ["integer", { kind: "integer", low: 3, high: 6 } as const],
    ["spread", spread(400, 0.7)],
    ["geometric", { kind: "geometric", mean: 8, max: 30 } as const],
    ["mixture", TOOL_WAITS.swe],
    ["pareto", { kind: "pareto", least: 60, alpha: 1.2, max: 3_600 } as const],
  ] as const)("%s: sampled mean is the stated one", (_name, distribution) => {
    expect(mean(draws(distribution)) / meanOf(distribution)).toBeCloseTo(1, 1);
    if (distribution.kind !== "geometric") expect(meanOf(scaled(distribution, 2))).toBeCloseTo(2 * meanOf(distribution), 6);
  });

  it("gamma has mean 1 and the CV of its shape; geometric starts at 1", () => {
    const rng = createRng(3);
    const values = Array.from({ length: 40_000 }, () => unitMeanGamma(rng, 1 / 9));
    expect(mean(values)).toBeCloseTo(1, 1);
    expect(cv(values)).toBeGreaterThan(2.8);
    expect(cv(values)).toBeLessThan(3.2);
    expect(geometric(rng, 1)).toBe(1);
  });

  it("tool waits have the published quantiles", () => {
    const swe = draws(TOOL_WAITS.swe);
    expect([0.5, 0.75, 0.9, 0.99].map((p) => quantile(swe, p)).map((value, i) => value / [0.04, 3.7, 7.9, 21][i]!)).toSatisfy(
      (ratios: number[]) => ratios.every((ratio) => ratio > 0.8 && ratio < 1.25),
    );
    const mixed = draws(TOOL_WAITS.mixed);
    expect([0.5, 0.75, 0.9, 0.99].map((p) => quantile(mixed, p)).map((value, i) => value / [0.07, 4, 16, 125][i]!)).toSatisfy(
      (ratios: number[]) => ratios.every((ratio) => ratio > 0.75 && ratio < 1.3),
    );
    expect(mean(mixed)).toBeCloseTo(7.7, 0);
  });
});

describe("arrivals", () => {
  it.each([
    ["poisson", 1, 0.05],
    ["gamma-3", 3, 0.35],
    ["gamma-6", 6, 1.2],
  ] as const)("%s: CV %d at the asked rate", (name, expected, tolerance) => {
    const gaps = gapsOf(ARRIVALS[name]);
    expect(Math.abs(cv(gaps) - expected)).toBeLessThan(tolerance);
    expect(mean(gaps)).toBeCloseTo(0.5, 1);
  });

  it("gamma-8 is burstier than gamma-6, and rates scale it exactly", () => {
    expect(cv(gapsOf(ARRIVALS["gamma-8"], 60_000))).toBeGreaterThan(6.5);
    const slow = arrivalSeconds(ARRIVALS["gamma-8"], 50, 0.1, createRng(2));
    expect(arrivalSeconds(ARRIVALS["gamma-8"], 50, 1, createRng(2)).map((at) => at * 10)).toEqual(
      slow.map((at) => expect.closeTo(at, 6)),
    );
  });

  it("on-off has silences of a minute and more, and the asked mean rate", () => {
    const gaps = gapsOf(ARRIVALS["on-off"]);
    expect(gaps.filter((gap) => gap >= 60).length).toBeGreaterThan(20);
    expect(mean(gaps) / 0.5).toBeCloseTo(1, 0);
    expect(cv(gaps)).toBeGreaterThan(5);
  });

  it("drift keeps smooth gaps but swings between windows", () => {
    const times = arrivalSeconds(ARRIVALS.drift, 20_000, 2, createRng(9));
    const counts = Array.from({ length: 100 }, (_, i) => times.filter((at) => at >= i * 60 && at < (i + 1) * 60).length);
    expect(standardDeviation(counts) ** 2 / mean(counts)).toBeGreaterThan(5);
    expect(mean(gapsOf(ARRIVALS.drift))).toBeCloseTo(0.5, 1);
  });

  it("batch-8 comes in eights", () => {
    const gaps = gapsOf(ARRIVALS["batch-8"], 4_000);
    expect(mean(gaps)).toBeCloseTo(0.5, 1);
    expect(gaps.filter((gap) => gap < 0.9).length / gaps.length).toBeGreaterThan(0.85);
  });

  it("replay takes the times as they are and wants enough of them", () => {
    expect(arrivalSeconds({ kind: "replay", seconds: [7, 5, 9], timeScale: 2 }, 3, 1, createRng(1))).toEqual([0, 4, 8]);
    expect(() => arrivalSeconds({ kind: "replay", seconds: [1] }, 2, 1, createRng(1))).toThrow(/has 1 times, 2 tasks/);
  });
});
