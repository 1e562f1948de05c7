import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskHints } from "../events.ts";
import { decide } from "../decide.ts";
import { step } from "../step.ts";
import { admit, arrive, call, fresh, policy, ready, stage } from "../testing/builders.ts";
import { openDifficulty, secondsState, task, teach } from "../testing/lengths.ts";
import type { State } from "../state.ts";
import { createEstimator } from "./estimator.ts";
import { geometricQuantile, PRIOR_WAIT_SECONDS, priorOutputTokens, priorWaitSeconds } from "./prior.ts";
import { RING } from "./ring.ts";

/** One whole call: ready, admitted, generated, done. */
export function run(state: State, at: number, id: string, taskId: string, stageId: string, decoded: number, seconds = 1): void {
  const request = { ...call(id, { task: taskId, stage: stageId, max: 100_000 }), expectedOutputTokens: null };
  step(state, { kind: "ready", at, request });
  admit(state, at, id, 200);
  step(state, { kind: "progress", at, deltas: [{ request: id, prefilled: 100, decoded }] });
  step(state, { kind: "roundDone", at: at + seconds, request: id, retainedTokens: 0 });
}

describe("cold start", () => {
  it("the prior has the means and medians it is meant to have", () => {
    const mean = (of: (u: number) => number, n = 4_000): number =>
      Array.from({ length: n }, (_, i) => of((i + 0.5) / n)).reduce((a, b) => a + b) / n;
    expect(priorOutputTokens(0.5)).toBeCloseTo(216, 6);
    expect(mean(priorOutputTokens)).toBeCloseTo(418, -1);
    expect(mean((u) => geometricQuantile(1.5, u))).toBeCloseTo(1.5, 1);
    expect(priorWaitSeconds(0.5)).toBeCloseTo(0.07, 1);
    expect(PRIOR_WAIT_SECONDS).toBeGreaterThan(5);
  });

  it("knows nothing: the mean of the prior, and a residual that grows as a heavy tail's does", () => {
    const state = fresh();
    arrive(state, 0, "t", { stages: [{ id: "s", agent: "s" }], edges: [] });
    const estimator = createEstimator(state);
    const whole = estimator.stageSeconds(task(state), task(state).stages.get("s")!);
    expect(whole).toBeCloseTo(500 * 0.0003 + 418 * 0.05, 9);
    step(state, {
      kind: "ready",
      at: 0,
      request: { ...call("r", { task: "t", stage: "s", own: 500, max: 5_000 }), expectedOutputTokens: null },
    });
    admit(state, 0, "r", 600);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "r", prefilled: 500, decoded: 600 }] });
    expect(estimator.residualSeconds(task(state), task(state).stages.get("s")!)).toBeGreaterThan(whole);
  });

  it("is left behind: the eighth own sample is the last that is mixed", () => {
    const state = secondsState();
    const mean = (): number => {
      const id = `t${state.tasks.size}`;
      arrive(state, 0, id, { stages: [{ id: "s", agent: "s" }], edges: [] });
      return createEstimator(state).stageSeconds(task(state, id), task(state, id).stages.get("s")!);
    };
    teach(state, "s", [10, 10, 10, 10]);
    expect(mean()).toBeGreaterThan(10.5);
    teach(state, "s", [10, 10, 10, 10]);
    expect(mean()).toBeCloseTo(10, 9);
    teach(
      state,
      "s",
      Array.from({ length: RING }, () => 20),
    );
    expect(mean()).toBeCloseTo(20, 9);
  });

  it("a declared length is believed first, weighs four, and hardly counts after 32", () => {
    const state = secondsState();
    const mean = (): number => {
      const id = `t${state.tasks.size}`;
      arrive(state, 0, id, { stages: [stage("s", 100)], edges: [] });
      return createEstimator(state).stageSeconds(task(state, id), task(state, id).stages.get("s")!);
    };
    expect(mean()).toBe(100);
    teach(state, "s", [10, 10, 10, 10]);
    expect(mean()).toBeCloseTo(55, 9);
    teach(
      state,
      "s",
      Array.from({ length: 28 }, () => 10),
    );
    expect(mean()).toBeCloseTo(20, 9);
  });
});

describe("what a run teaches", () => {
  it("the five sums of a visit of several rounds, its wait, its rounds", () => {
    const state = fresh();
    arrive(state, 0, "t", { stages: [{ id: "s", agent: "s", rounds: { max: 4, mean: 2 } }, stage("z", 1)], edges: [["s", "z"]] });
    run(state, 0, "r1", "t", "s", 10);
    run(state, 5, "r2", "t", "s", 20);
    step(state, { kind: "stageDone", at: 7, task: "t", stage: "s" });
    const stats = [...state.profile.stats.values()][0]!;
    expect([...stats.stageRing.data.subarray(0, 6)]).toEqual([200, 30, 3_000, 500, 20_000, 2]);
    expect(stats.roundCounts).toEqual([0, 0, 1]);
    expect([...createEstimator(state).toolWaits("x", "s")]).toEqual([4]);
  });

  it("rounds to come: the histogram, the declared mean, never past the bound", () => {
    const state = fresh();
    const rounds = { max: 3, mean: 2 };
    for (let i = 0; i < 6; i++) {
      arrive(state, 0, `t${i}`, { stages: [{ id: "s", agent: "s", rounds }], edges: [] });
      run(state, 0, `a${i}`, `t${i}`, "s", 5);
      if (i % 2 === 0) run(state, 0, `b${i}`, `t${i}`, "s", 5);
      step(state, { kind: "stageDone", at: 1, task: `t${i}`, stage: "s" });
    }
    arrive(state, 2, "t", { stages: [{ id: "s", agent: "s", rounds }], edges: [] });
    const chance = (): number => createEstimator(state).anotherRoundProbability(task(state), task(state).stages.get("s")!);
    run(state, 2, "c1", "t", "s", 5);
    expect(chance()).toBeCloseTo((3 + 1) / (6 + 2), 9);
    run(state, 3, "c2", "t", "s", 5);
    expect(chance()).toBeCloseTo((0 + 1) / (3 + 2), 9);
    run(state, 4, "c3", "t", "s", 5);
    expect(chance()).toBe(0);
  });

  it("difficulty: shut before 30 tasks, then a task that runs long is expected to stay long", () => {
    const state = secondsState();
    teach(
      state,
      "s",
      Array.from({ length: 16 }, () => 100),
    );
    arrive(state, 0, "t");
    run(state, 0, "r", "t", "s", 200);
    const posterior = (): number => createEstimator(state, { estimate: "posterior" }).difficulty(task(state));
    expect(posterior()).toBe(1);
    openDifficulty(state);
    run(state, 2, "r2", "t", "s", 200);
    expect(createEstimator(state).difficulty(task(state))).toBe(1);
    expect(posterior()).toBeLessThan(1);
    arrive(state, 3, "u");
    expect(createEstimator(state, { estimate: "posterior" }).difficulty(task(state, "u"))).toBeCloseTo(1, 9);
  });

  it("a supervisor loop nobody declared: leader visits to come, each with its phase of specialists", () => {
    const state = secondsState();
    for (let i = 0; i < 20; i++) {
      arrive(state, i, `t${i}`);
      for (let k = 0; k < 4; k++) {
        run(state, i, `l${i}.${k}`, `t${i}`, "LEAD", 3);
        if (k < 3) run(state, i, `w${i}.${k}`, `t${i}`, "WORK", 7);
      }
      step(state, { kind: "taskDone", at: i + 1, task: `t${i}` });
    }
    arrive(state, 50, "t");
    run(state, 50, "l", "t", "LEAD", 3);
    const estimator = createEstimator(state);
    expect(estimator.tailSeconds(task(state))).toBeCloseTo(3 * (3 + 7), 6);
    expect(estimator.remainingWorkSeconds(task(state))).toBeGreaterThan(20);
    expect(estimator.tailAreaTokenSeconds(task(state))).toBeGreaterThan(0);
  });
});

describe("hints", () => {
  it("absurd ones of every kind are counted and leave decisions finite", () => {
    const absurd = fc.constantFrom(Number.NaN, -1, Infinity, -Infinity, 1e300, 0, 3);
    const names = [
      "remainingPathSeconds",
      "remainingWorkSeconds",
      "expectedOutputTokens",
      "reserveTokens",
      "nearTermReuse",
      "toolWaitEndSeconds",
    ];
    fc.assert(
      fc.property(fc.array(absurd, { minLength: 6, maxLength: 6 }), fc.boolean(), (values, stageToo) => {
        const state = fresh();
        ready(state, 0, "r", { task: "t", stage: "s", prefix: ["p", 100] });
        const hints = Object.fromEntries(names.map((name, i) => [name, values[i]])) as TaskHints;
        step(state, {
          kind: "receiptUpdated",
          at: 0,
          task: "t",
          stage: stageToo ? "s" : null,
          hints: { ...hints, readyStages: ["s", "no"] },
        });
        const bad = values.filter((v) => !(v >= 0 && v < Infinity)).length;
        expect(state.counters["hintsRefused"] ?? 0).toBeGreaterThanOrEqual(bad);
        const estimator = createEstimator(state);
        const request = state.requests.get("r")!;
        const all = [
          estimator.remainingWorkSeconds(task(state)),
          estimator.remainingAreaTokenSeconds(task(state)),
          estimator.tailSeconds(task(state)),
          estimator.expectedOutputTokens(request),
          estimator.reservedOutputTokens(request),
        ];
        for (const value of all) expect(value >= 0 && value < Infinity).toBe(true);
        expect(decide(state, policy("topas"), 0).admit).toHaveLength(1);
      }),
      { numRuns: 60, seed: 3 },
    );
  });

  it("a path longer than all the work is a contradiction; a reservation caps or raises; work blends in", () => {
    const state = fresh();
    ready(state, 0, "r", { task: "t", stage: "s", own: 100, max: 500 });
    step(state, {
      kind: "receiptUpdated",
      at: 0,
      task: "t",
      stage: null,
      hints: { remainingPathSeconds: 50, remainingWorkSeconds: 20, reserveTokens: 400 },
    });
    expect(state.counters["hintsContradictory"]).toBe(1);
    const estimator = createEstimator(state);
    expect(estimator.reservedOutputTokens(state.requests.get("r")!)).toBe(300);
    expect(estimator.remainingWorkSeconds(task(state))).toBeCloseTo(20, 9);
  });

  it("a stage said to be ready proves what came before it over, unless that is seen to run", () => {
    const state = fresh();
    const ids = ["A", "B", "C"];
    arrive(state, 0, "t", {
      stages: ids.map((id) => stage(id, 1)),
      edges: [
        ["A", "B"],
        ["B", "C"],
      ],
    });
    ready(state, 0, "b", { task: "t", stage: "B" });
    step(state, { kind: "receiptUpdated", at: 0, task: "t", stage: null, hints: { readyStages: ["C"] } });
    expect(task(state).stages.get("C")!.status).toBe("blocked");
    step(state, { kind: "cancelled", at: 1, request: "b" });
    step(state, { kind: "receiptUpdated", at: 1, task: "t", stage: null, hints: { readyStages: ["C"] } });
    expect(task(state).stages.get("C")!.status).toBe("ready");
    expect(task(state).stages.get("B")!.status).toBe("done");
  });

  it("degenerate input: no stage, no speed, nothing to share or generate: no NaN", () => {
    const state = fresh({ speeds: { prefillSecondsPerToken: 0, decodeSecondsPerToken: 0 } });
    arrive(state, 0, "t", { stages: [], edges: [] });
    arrive(state, 0, "u", { stages: [stage("s", 0), { id: "z", agent: "z", expectedOutputTokens: 0 }], edges: [] });
    ready(state, 0, "r", { task: "u", stage: "s", own: 0, max: 0, output: 0 });
    const estimator = createEstimator(state);
    for (const id of ["t", "u"])
      for (const value of [
        estimator.remainingWorkSeconds(task(state, id)),
        estimator.remainingAreaTokenSeconds(task(state, id)),
        estimator.tailSeconds(task(state, id)),
      ])
        expect(value).toBe(0);
    expect(estimator.callServiceSeconds(state.requests.get("r")!)).toBe(0);
  });
});
