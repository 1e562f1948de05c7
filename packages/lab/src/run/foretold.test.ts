import type { CoreEvent, State } from "@topas/core";
import { describe, expect, it } from "vitest";
import { foretold, withoutHistory } from "../grid/estimates.ts";
import { AS_PRESET } from "../grid/grid.ts";
import { allArms } from "../grid/references.ts";
import { calibrate } from "./calibration.ts";
import { doSearch, searched, searchJobs } from "./search.ts";
import { runCell } from "./run-cell.ts";
import { recordUses, replayUses } from "./uses.ts";
import { workloadOf } from "./workload.ts";

const CELL = {
  workload: "paper-sop-cv2",
  variant: AS_PRESET,
  arrival: "poisson",
  load: 0.8,
  ratePerSecond: 0.1,
  profile: "qwen2.5-32b-a100",
  budgetTokens: 20_000,
  hostTier: "pcie",
  reserve: "own",
  seed: 1,
  tasks: 12,
  warmupTasks: 2,
} as const;

describe("what a task is told", () => {
  const { tasks } = workloadOf(CELL).workload;

  it("foretold: the lengths that come, and a tenant of its own", () => {
    for (const task of foretold(tasks)) {
      expect(task.tenant).toBe(task.id);
      for (const stage of task.graph!.stages) {
        const { rounds } = task.stages.find(({ id }) => id === stage.id)!;
        const outputs = rounds.map(({ outputTokens }) => outputTokens);
        expect(stage.expectedOutputTokens).toBeCloseTo(outputs.reduce((a, b) => a + b, 0) / outputs.length, 9);
      }
    }
  });

  it("what really happens stays the same", () => {
    expect(withoutHistory(tasks).map(({ stages }) => stages)).toEqual(tasks.map(({ stages }) => stages));
    const arm = allArms().get("topas-guarded foretold")!;
    const [plain, told] = [allArms().get("topas-guarded")!, arm].map((each) => runCell({ ...CELL, arm: each }));
    expect(told!.inputs).toBe(plain!.inputs);
    expect(told!.error).toBeNull();
    expect(told!.metrics.jctMeanS).not.toBe(plain!.metrics.jctMeanS);
  });
});

describe("order of uses", () => {
  const state = {
    requests: new Map([
      ["1", { prefix: "prefix:a" }],
      ["2", { prefix: "prefix:b" }],
    ]),
  } as unknown as State;
  const admit = (request: string, at: number): CoreEvent =>
    ({ kind: "committed", at, decision: { admit: [{ request }] } }) as unknown as CoreEvent;

  it("is replayed by count: next use, never again, unknown", () => {
    const uses = recordUses();
    for (const [i, request] of ["1", "2", "2", "1"].entries()) uses.onEvent(state, admit(request, i));
    expect(uses.order).toEqual(["prefix:a", "prefix:b", "prefix:b", "prefix:a"]);
    const future = replayUses(uses.order);
    future.onEvent(state, admit("1", 10));
    expect([future.nextUseSeconds("prefix:b"), future.nextUseSeconds("prefix:a")]).toEqual([10, 12]);
    for (const at of [11, 12]) future.onEvent(state, admit("2", at));
    expect(future.nextUseSeconds("prefix:b")).toBe(Infinity);
    expect(future.nextUseSeconds("prefix:c")).toBeNull();
  });

  it("a real run has uses, and the second pass ends", () => {
    const { metrics, error } = runCell({ ...CELL, arm: allArms().get("oracle-belady-o")! });
    expect([error, metrics.successRate]).toEqual([null, 1]);
  });
});

it("a search is cut into pieces and says the same as a whole", () => {
  const step = { kind: "search", test: "A5", question: "?", instances: 20 } as const;
  expect(searchJobs({ ...step, instances: 501 }).map(({ from, count }) => [from, count])).toEqual([
    [1, 250],
    [251, 250],
    [501, 1],
  ]);
  const said = searched(step, searchJobs(step).flatMap(doSearch));
  for (const row of said.rows!.filter(({ baseline }) => baseline === "optimum"))
    expect(Number(row["worst"])).toBeGreaterThanOrEqual(1);
  expect(said.charts).toHaveLength(2);
});

it("calibration: with equal tasks the path is nearly right once learned", () => {
  const cell = {
    ...CELL,
    workload: "paper-sop",
    budgetTokens: 32_000,
    ratePerSecond: 0.05,
    tasks: 12,
    warmupTasks: 14,
    arm: allArms().get("topas")!,
  };
  const rows = calibrate({ kind: "calibration", cell });
  expect(rows).toHaveLength(4);
  for (const { predictedSeconds, actualSeconds, residuals } of rows) {
    const error = Math.abs(predictedSeconds / actualSeconds - 1);
    expect(error).toBeLessThan(residuals === "independent" ? 0.05 : 0.2);
  }
});
