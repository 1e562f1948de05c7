import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lognormalQuantile } from "../estimate/normal.ts";
import { createEstimator, type EstimatorOptions } from "../estimate/estimator.ts";
import type { Graph } from "../events.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, call, ready } from "../testing/builders.ts";
import { repeat, secondsState, task, teach } from "../testing/lengths.ts";
import { taskPath } from "./path.ts";

const RUNS = { numRuns: 60, seed: 11 };
const lengths = fc.array(
  fc.integer({ min: 0, max: 400 }).map((n) => n / 8),
  { minLength: 1, maxLength: 6 },
);

/** Branches of two stages each, with learned lengths. */
function branches(list: readonly { own: readonly number[]; behind: readonly number[] }[]): State {
  const state = secondsState();
  const stages: Graph["stages"][number][] = [];
  const edges: [string, string][] = [];
  list.forEach(({ own, behind }, i) => {
    teach(state, `b${i}`, repeat(own));
    teach(state, `c${i}`, repeat(behind));
    stages.push({ id: `b${i}`, agent: `b${i}` }, { id: `c${i}`, agent: `c${i}` });
    edges.push([`b${i}`, `c${i}`]);
  });
  arrive(state, 0, "t", { stages, edges });
  return state;
}

const path = (state: State, options: Partial<EstimatorOptions> = {}) => taskPath(task(state), createEstimator(state, options));
const forks = fc.array(fc.record({ own: lengths, behind: lengths }), { minLength: 1, maxLength: 5 });
const modes = fc.constantFrom<Partial<EstimatorOptions>>(
  {},
  { exactUpTo: 0 },
  { inside: true },
  { estimate: "posterior" },
  { estimate: "correlated" },
  { samples: 7 },
);

describe("gains", () => {
  it("are never negative, telescope along any order, and completing more never lengthens the path", () => {
    fc.assert(
      fc.property(forks, modes, fc.infiniteStream(fc.nat()), (list, options, picks) => {
        const p = path(branches(list), options);
        const left = list.map((_, i) => `b${i}`);
        const done = new Set<string>();
        const completed = (id: string) => done.has(id);
        let sum = 0;
        while (left.length > 0) {
          const [next] = left.splice(picks.next().value! % left.length, 1);
          const before = p.seconds(completed);
          const gain = p.delta(next!, completed);
          expect(gain).toBeGreaterThanOrEqual(0);
          sum += gain;
          done.add(next!);
          expect(p.seconds(completed)).toBeLessThanOrEqual(before + 1e-9);
        }
        expect(Math.abs(sum - (p.seconds() - p.seconds(completed)))).toBeLessThan(1e-9 * Math.max(1, sum));
      }),
      RUNS,
    );
  });

  it("on a chain equal the current stage's own expected residual, whatever follows", () => {
    fc.assert(
      fc.property(fc.array(lengths, { minLength: 1, maxLength: 5 }), modes, fc.nat(60), (chain, options, decoded) => {
        const state = secondsState();
        chain.forEach((own, i) => teach(state, `s${i}`, repeat(own)));
        const stages = chain.map((_, i) => ({ id: `s${i}`, agent: `s${i}` }));
        arrive(state, 0, "t", { stages, edges: stages.slice(1).map((to, i) => [`s${i}`, to.id] as const) });
        const request = { ...call("r", { task: "t", stage: "s0", own: 0 }), expectedOutputTokens: null };
        step(state, { kind: "ready", at: 0, request });
        admit(state, 0, "r", 100);
        step(state, { kind: "progress", at: 0, deltas: [{ request: "r", prefilled: 0, decoded }] });
        const estimator = createEstimator(state, options);
        const expected = estimator.residualSeconds(task(state), task(state).stages.get("s0")!);
        const above = repeat(chain[0]!).filter((x) => x > decoded);
        if (decoded > 0 && above.length > 0 && options.estimate === undefined)
          expect(expected).toBeCloseTo(above.reduce((a, x) => a + x - decoded, 0) / above.length, 9);
        expect(path(state, options).delta("s0")).toBeCloseTo(expected, 9);
      }),
      RUNS,
    );
  });

  it("of one call never exceed the stage's, and equal min(Z, s) on a chain of one stage", () => {
    const state = secondsState();
    teach(state, "s", repeat([30]));
    arrive(state, 0, "t", { stages: [{ id: "s", agent: "s", rounds: { max: 5, mean: 3 } }], edges: [] });
    step(state, {
      kind: "ready",
      at: 0,
      request: { ...call("r", { task: "t", stage: "s", own: 0 }), expectedOutputTokens: null },
    });
    const estimator = createEstimator(state);
    const own = estimator.callServiceSeconds(state.requests.get("r")!);
    expect(path(state).delta("s")).toBeCloseTo(30, 9);
    expect(path(state).delta("s", undefined, "call")).toBeCloseTo(Math.min(30, own), 9);
    expect(path(state, { roundGain: "call" }).delta("s")).toBeCloseTo(Math.min(30, own), 9);
  });
});

describe("samples", () => {
  it("32 stratified ones agree with the exact mean of the longest of three branches within 8 %", () => {
    let squares = 0;
    const runs = 40;
    const uniform = fc.double({ min: 0.001, max: 0.999, noNaN: true });
    const sixteen = fc.array(uniform, { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(fc.array(sixteen, { minLength: 3, maxLength: 3 }), (own) => {
        const cv07 = Math.sqrt(Math.log(1.49));
        const state = branches(
          own.map((list) => ({ own: list.map((u, i) => lognormalQuantile(20, cv07, (i + u) / 16)), behind: [1] })),
        );
        const exact = path(state, { exactUpTo: 4_096 }).seconds();
        const error = Math.abs(path(state, { exactUpTo: 0 }).seconds() / exact - 1);
        squares += (error * error) / runs;
        expect(error).toBeLessThan(0.08);
      }),
      { numRuns: runs, seed: 5 },
    );
    expect(Math.sqrt(squares)).toBeLessThan(0.03);
  });

  it("stay as they are until their stage has an event, and other stages' events leave them", () => {
    const state = branches([
      { own: [1, 5, 9], behind: [2] },
      { own: [2, 8], behind: [3] },
    ]);
    const before = path(state).seconds();
    teach(state, "b0", repeat([400]));
    expect(path(state).seconds()).toBe(before);
    ready(state, 1, "r", { task: "t", stage: "b1" });
    const rows = path(state);
    expect(rows.residual("b0")).toBeCloseTo(5, 9);
    ready(state, 2, "q", { task: "t", stage: "b0", output: 50 });
    expect(path(state).residual("b0")).not.toBeCloseTo(5, 3);
  });

  it("depend on names only: the same state gives the same path, another task id other samples", () => {
    const list = [
      { own: [1, 4, 9, 16, 30, 50, 77, 90], behind: [1] },
      { own: [2, 3, 5, 8, 13, 21, 34, 55], behind: [1] },
    ];
    const one = branches(list);
    const exactUpTo = 0;
    expect(path(branches(list), { exactUpTo }).seconds()).toBe(path(one, { exactUpTo }).seconds());
    arrive(one, 0, "u", task(one).graph!.source);
    const other = taskPath(task(one, "u"), createEstimator(one, { exactUpTo })).seconds();
    expect(other).not.toBe(path(one, { exactUpTo }).seconds());
  });
});

it("lost work is done again: a redecode preemption brings the residual back, a swap keeps it", () => {
  const after = (mode: "redecode" | "swap"): number => {
    const state = secondsState();
    teach(state, "s", repeat([10]));
    arrive(state, 0, "t", { stages: [{ id: "s", agent: "s" }], edges: [] });
    const request = { ...call("r", { task: "t", stage: "s", own: 0 }), expectedOutputTokens: null };
    step(state, { kind: "ready", at: 0, request });
    admit(state, 0, "r", 100);
    step(state, { kind: "progress", at: 0, deltas: [{ request: "r", prefilled: 0, decoded: 4 }] });
    expect(path(state).residual("s")).toBeCloseTo(6, 9);
    const none = { policy: "test", atSeconds: 1, evict: [], load: [], admit: [], keep: [], why: [], wakeAtSeconds: null };
    step(state, { kind: "committed", at: 1, decision: { ...none, preempt: [{ request: "r", mode }] } });
    return path(state).residual("s");
  };
  expect(after("redecode")).toBeCloseTo(10, 9);
  expect(after("swap")).toBeCloseTo(6, 9);
});
