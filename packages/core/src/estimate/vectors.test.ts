import { describe, expect, it } from "vitest";
import type { Graph } from "../events.ts";
import { taskPath, type TaskPath } from "../graph/path.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, call, stage } from "../testing/builders.ts";
import { openDifficulty, repeat, secondsState, task, teach } from "../testing/lengths.ts";
import { callArea, callSeconds } from "./area.ts";
import { DEFAULT_SPREAD, difficultyFactor } from "./difficulty.ts";
import { createEstimator, type EstimatorOptions } from "./estimator.ts";
import { emptySet, insertLength, meanAreaLeft, meanResidual } from "./residual.ts";

const edges: Graph["edges"] = [
  ["A", "B"],
  ["A", "C"],
  ["B", "D"],
  ["C", "D"],
];
const only =
  (...done: string[]) =>
  (id: string) =>
    done.includes(id);

function diamond(c: number | readonly number[]): State {
  const state = secondsState();
  teach(state, "B", repeat([2, 10]));
  if (typeof c !== "number") teach(state, "C", c);
  const plain = (id: string) => ({ id, agent: id });
  arrive(state, 0, "t", {
    stages: [plain("A"), plain("B"), typeof c === "number" ? stage("C", c) : plain("C"), stage("D", 1)],
    edges,
  });
  step(state, { kind: "stageDone", at: 0, task: "t", stage: "A" });
  return state;
}

const path = (state: State, options: Partial<EstimatorOptions> = {}): TaskPath =>
  taskPath(task(state), createEstimator(state, options));

/** Runs stage B for so many decoded tokens, without an estimate of its own. */
function runB(state: State, decoded: number): void {
  const spec = { ...call("b", { task: "t", stage: "B", own: 0 }), expectedOutputTokens: null };
  step(state, { kind: "ready", at: 0, request: spec });
  admit(state, 0, "b", 100);
  step(state, { kind: "progress", at: 0, deltas: [{ request: "b", prefilled: 0, decoded }] });
}

describe("V1 diamond", () => {
  it.each([0, 4_096])("L = 9 and its gains, enumerating up to %d", (exactUpTo) => {
    const p = path(diamond(6), { exactUpTo });
    expect(p.seconds()).toBeCloseTo(9, 9);
    expect(p.delta("B")).toBeCloseTo(2, 9);
    expect(p.delta("C")).toBeCloseTo(2, 9);
    expect(p.delta("C", only("B"))).toBeCloseTo(6, 9);
    expect(p.delta("B", only("C"))).toBeCloseTo(6, 9);
    expect(p.seconds(only("B", "C"))).toBeCloseTo(1, 9);
  });

  it("inside: the longest path of means is 7", () => {
    expect(path(diamond(6), { inside: true }).seconds()).toBeCloseTo(7, 9);
  });
});

it("V2 fixed branches: the shorter one gains nothing until the longer is done", () => {
  const state = secondsState();
  arrive(state, 0, "t", {
    stages: [stage("B", 10), stage("C", 4), stage("D", 1)],
    edges: [
      ["B", "D"],
      ["C", "D"],
    ],
  });
  const p = path(state);
  expect([p.delta("C"), p.delta("B"), p.delta("C", only("B"))]).toEqual([0, 6, 4]);
  expect(p.delta("B") + p.delta("C", only("B"))).toBeCloseTo(10, 9);
});

it("V3 with B at e = 3: its residual is 7, L is 8, and C gains nothing", () => {
  const state = diamond(6);
  runB(state, 3);
  const p = path(state);
  expect(p.residual("B")).toBeCloseTo(7, 9);
  expect(p.seconds()).toBeCloseTo(8, 9);
  expect(p.delta("C")).toBe(0);
});

it("V4 residuals of 4 or 10 seconds after 0, 3, 5, 11", () => {
  const set = emptySet();
  insertLength(set, 4, 0, 0);
  insertLength(set, 10, 0, 0);
  expect([0, 3, 5, 11].map((e) => meanResidual(set, e, 0.05))).toEqual([7, 4, 5, 0.05]);
});

describe("V5 two branches of 2 or 10 seconds", () => {
  const both = (): State => {
    const state = secondsState();
    for (const id of ["B", "C"]) teach(state, id, repeat([2, 10]), repeat([2 / 6, 10 / 6]));
    openDifficulty(state);
    arrive(state, 0, "t", { stages: ["A", "B", "C"].map((id) => ({ id, agent: id })).concat(stage("D", 1)), edges });
    step(state, { kind: "stageDone", at: 0, task: "t", stage: "A" });
    return state;
  };

  it("independent: 9", () => {
    expect(path(both(), { exactUpTo: 4_096 }).seconds()).toBeCloseTo(9, 9);
  });

  it("one difficulty for both: 7", () => {
    expect(path(both(), { estimate: "correlated" }).seconds()).toBeCloseTo(7, 6);
  });
});

it("V13 the factor after the output ratios seen so far", () => {
  const factor = (...ratios: number[]): number =>
    difficultyFactor(
      ratios.length,
      ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0),
      DEFAULT_SPREAD,
    );
  const seen = [factor(), factor(1), factor(2), factor(2, 2), factor(2, 2, 2, 2), factor(0.5)];
  for (const [i, expected] of [1, 1.0799, 1.4105, 1.643, 1.8928, 0.8267].entries()) expect(seen[i]).toBeCloseTo(expected, 4);
});

it("V14 service and area of a call", () => {
  const speeds = { prefillSecondsPerToken: 0.00035, decodeSecondsPerToken: 0.047, kvBytesPerToken: 1, copyBytesPerSecond: 1 };
  expect(callSeconds(speeds, 600, 200)).toBeCloseTo(9.61, 9);
  expect(callArea(speeds, 600, 200)).toBeCloseTo(6_706, 6);
  expect(callSeconds(speeds, 600, 400)).toBeCloseTo(19.01, 9);
  expect(callArea(speeds, 600, 400)).toBeCloseTo(15_166, 6);
});

it("V15 area left of visits (4 s, 100) and (10 s, 700) after 0, 3, 5", () => {
  const set = emptySet();
  insertLength(set, 10, 700, 0);
  insertLength(set, 4, 100, 0);
  expect([0, 3, 5].map((e) => meanAreaLeft(set, e, 0.05))).toEqual([400, 257.5, 350]);
});
