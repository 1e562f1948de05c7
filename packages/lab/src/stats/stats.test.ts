import { createRng } from "@topas/sim";
import { describe, expect, it } from "vitest";
import { bootstrapRatio, expandedTail, ratioOfMeans, type Pair } from "./bootstrap.ts";
import { geometricMean, mean, quantile } from "./describe.ts";
import { holm } from "./holm.ts";
import { kendall } from "./kendall.ts";
import { permutationP } from "./permutation.ts";

describe("quantile type 7", () => {
  // R: quantile(c(1, 2, 3, 4, 10), c(.25, .5, .9, .99), type = 7)
  it.each([
    [0.25, 2],
    [0.5, 3],
    [0.9, 7.6],
    [0.99, 9.76],
    [1, 10],
  ])("%s", (p, expected) => expect(quantile([10, 4, 3, 2, 1], p)).toBeCloseTo(expected, 12));
  it("of nothing is not a number", () => expect(quantile([], 0.5)).toBeNaN());
});

it("mean and geometric mean", () => {
  expect(mean([1, 2, 6])).toBe(3);
  expect(geometricMean([1, 4])).toBeCloseTo(2, 12);
});

describe("paired bootstrap", () => {
  const pairs: Pair[] = [8, 9, 7, 8.5, 8, 9.2, 7.7, 8.1].map((a, i) => [a, 10 + 0.1 * i]);
  it("holds the ratio and is the same for the same seed", () => {
    const a = bootstrapRatio(pairs, createRng(1));
    expect(a).toEqual(bootstrapRatio(pairs, createRng(1)));
    expect(a.ratio).toBe(ratioOfMeans(pairs));
    expect(a.ci95[0]).toBeLessThan(a.ratio);
    expect(a.ci95[1]).toBeGreaterThan(a.ratio);
  });
  it("is wider than the plain percentiles, most with few seeds", () => {
    expect(expandedTail(5)).toBeCloseTo(0.00096, 4);
    expect(expandedTail(5)).toBeLessThan(expandedTail(10));
    expect(expandedTail(200)).toBeCloseTo(0.0244, 2);
  });
  it("covers a ratio of one about as often as it says, also with five seeds", () => {
    const rng = createRng(7);
    let covered = 0;
    for (let trial = 0; trial < 200; trial++) {
      const drawn = Array.from({ length: 5 }, (): Pair => [10 + rng.normal(), 10 + rng.normal()]);
      const { ci95 } = bootstrapRatio(drawn, rng, 300);
      if (ci95[0] <= 1 && ci95[1] >= 1) covered += 1;
    }
    expect(covered / 200).toBeGreaterThan(0.89);
  });
  it("says nothing about one seed", () => expect(bootstrapRatio([[1, 2]], createRng(1)).ci95).toEqual([0, Number.MAX_VALUE]));
});

describe("permutation test", () => {
  it("is exact for few seeds: all five faster gives 2 / 32", () => {
    const pairs = [1, 2, 3, 4, 5].map((x): Pair => [x, x + 2]);
    expect(permutationP(pairs, createRng(1))).toBe(2 / 32);
  });
  it("gives one for equal figures and a small p for a clear difference", () => {
    expect(permutationP([[3, 3]], createRng(1))).toBe(1);
    const many = Array.from({ length: 20 }, (_, i): Pair => [5 + (i % 3), 9 + (i % 4)]);
    expect(permutationP(many, createRng(1))).toBeLessThan(0.001);
  });
});

it("Holm: multiplied by the number left, never falling", () => {
  const adjusted = holm([0.01, 0.04, 0.03]);
  for (const [i, expected] of [0.03, 0.06, 0.06].entries()) expect(adjusted[i]).toBeCloseTo(expected, 12);
  expect(holm([0.5, 0.9])).toEqual([1, 1]);
});

it("Kendall: 1 for the same order, -1 for the reverse, ties in between", () => {
  expect(kendall([1, 2, 3], [10, 20, 30])).toBeCloseTo(1, 12);
  expect(kendall([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1, 12);
  // scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])
  expect(kendall([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])).toBeCloseTo(-0.47140452, 7);
});
