import { expect, test } from "vitest";
import { createClock } from "./clock.ts";
import { Heap } from "./heap.ts";
import { createRng } from "./rng.ts";
import { mean, pairedBootstrap, quantile, standardDeviation, weightedMean, weightedQuantile } from "./stats.ts";

test("heap pops in order", () => {
  const rng = createRng(7);
  const heap = new Heap<number>((a, b) => a - b);
  const values = Array.from({ length: 500 }, () => rng.int(100));
  for (const value of values) heap.push(value);
  const popped = values.map(() => heap.pop());
  expect(popped).toEqual(values.toSorted((a, b) => a - b));
  expect(heap.pop()).toBeUndefined();
});

test("clock orders one instant by kind, then id, whatever the order of asking", () => {
  const clock = createClock();
  const seen: string[] = [];
  const add = (at: number, kind: "stepEnd" | "arrival" | "toolReturn" | "timer", id: string): void =>
    clock.at(at, kind, id, () => void seen.push(`${clock.nowSeconds} ${kind} ${id}`));
  add(2, "timer", "a");
  add(1, "toolReturn", "b");
  add(1, "arrival", "z");
  add(1, "arrival", "c");
  while (clock.advance());
  expect(seen).toEqual(["1 arrival c", "1 arrival z", "1 toolReturn b", "2 timer a"]);
});

test("what an instant adds to itself runs in it; the past is now", () => {
  const clock = createClock();
  const seen: number[] = [];
  clock.at(3, "arrival", "a", (at) => clock.at(at - 2, "timer", "b", (then) => void seen.push(then)));
  expect(clock.advance()).toBe(true);
  expect(seen).toEqual([3]);
});

test("streams are reproducible and independent of what was drawn", () => {
  const one = createRng(1);
  const two = createRng(1);
  two.float();
  expect(one.split("waits").float()).toBe(two.split("waits").float());
  expect(one.split("waits").float()).not.toBe(one.split("shapes").float());
  const draws = Array.from({ length: 20_000 }, () => one.lognormal(100, 0.5));
  expect(quantile(draws, 0.5)).toBeCloseTo(100, -0.5);
  expect(mean(Array.from({ length: 20_000 }, () => one.exponential(3)))).toBeCloseTo(3, 1);
});

test("first draws of streams with neighbouring labels are independent", () => {
  const root = createRng(1);
  const first = Array.from({ length: 4_000 }, (_, i) => root.split(`x/${i}`).float() - 0.5);
  expect(Math.abs(mean(first))).toBeLessThan(0.02);
  expect(12 * Math.abs(mean(first.slice(1).map((value, i) => value * first[i]!)))).toBeLessThan(0.06);
});

test("statistics", () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([1, 2, 3, 4, 5], 0.9)).toBeCloseTo(4.6, 12);
  expect(standardDeviation([2, 4, 4, 4, 5, 5, 7, 9])).toBeCloseTo(2.138, 3);
  expect(weightedMean([1, 10], [9, 1])).toBe(1.9);
  expect(weightedQuantile([10, 1], [1, 99], 0.99)).toBe(1);
  expect(weightedQuantile([10, 1], [2, 98], 0.99)).toBe(10);
  const pairs = Array.from({ length: 30 }, (_, i) => [i, i + 2 + (i % 3)] as const);
  const gain = pairedBootstrap(pairs, (some) => mean(some.map(([a, b]) => b - a)), createRng(3));
  expect(gain.low).toBeGreaterThan(2);
  expect(gain.high).toBeLessThan(4);
});
