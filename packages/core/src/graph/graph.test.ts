import { describe, expect, it } from "vitest";
import { meanEstimator } from "../estimate/estimator.ts";
import type { Graph } from "../events.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, call, fresh, ready, stage } from "../testing/builders.ts";
import { compileGraph } from "./compile.ts";
import { taskPath } from "./path.ts";
import { frontier } from "./progress.ts";
import { validateGraph } from "./validate.ts";

const graph = (edges: readonly (readonly [string, string])[], more: Partial<Graph> = {}): Graph => ({
  stages: [...new Set(edges.flat())].map((id) => stage(id, 1)),
  edges,
  ...more,
});

const path = (state: State, task = "t"): number => taskPath(state.tasks.get(task)!, meanEstimator(state)).seconds();

/** One whole call of a stage, admitted and finished at once. */
function run(state: State, stageId: string, at = 0): void {
  const id = `${stageId}@${state.nextSeq}`;
  step(state, { kind: "ready", at, request: call(id, { task: "t", stage: stageId }) });
  admit(state, at, id, 200);
  step(state, { kind: "roundDone", at, request: id, retainedTokens: 0 });
}

describe("K66 a cycle nobody declared", () => {
  it("names the members of what it refuses", () => {
    const refused = (g: Graph) => {
      const check = validateGraph(g);
      return check.ok ? null : check.problem;
    };
    expect(
      refused(
        graph([
          ["A", "B"],
          ["B", "C"],
          ["C", "A"],
          ["C", "D"],
          ["Z", "A"],
        ]),
      ),
    ).toEqual({
      kind: "undeclaredCycle",
      members: ["A", "B", "C"],
    });
    expect(refused(graph([["A", "A"]]))).toEqual({ kind: "selfLoop", members: ["A"] });
    expect(refused({ stages: [stage("A", 1)], edges: [["A", "X"]] })).toEqual({ kind: "unknownStage", members: ["X"] });
    expect(refused({ stages: [stage("A", 1), stage("A", 2)], edges: [] })).toEqual({ kind: "duplicateStage", members: ["A"] });
  });

  it("accepts a diamond, and a chain of 5,000 stages fast and without recursion", () => {
    expect(
      validateGraph(
        graph([
          ["A", "B"],
          ["A", "C"],
          ["B", "D"],
          ["C", "D"],
        ]),
      ).ok,
    ).toBe(true);
    const stages = Array.from({ length: 5_000 }, (_, i) => stage(`s${i}`, 1));
    const chain: Graph = { stages, edges: stages.slice(1).map((to, i) => [`s${i}`, to.id] as const) };
    expect(validateGraph(chain).ok).toBe(true);
    expect(compileGraph(chain).topoIndex.get("s4999")).toBe(4_999);
    const state = fresh();
    arrive(state, 0, "t", chain);
    expect(path(state)).toBeCloseTo(5_000, 6);
  });

  it("an invalid graph is counted and changes nothing", () => {
    const state = fresh();
    arrive(
      state,
      0,
      "t",
      graph([
        ["A", "B"],
        ["B", "A"],
      ]),
    );
    expect(state.counters["graphsRefused"]).toBe(1);
    expect(state.tasks.get("t")!.graph).toBeNull();
  });
});

describe("K67 a cycle that is declared", () => {
  const loop: Graph = {
    stages: [stage("LEAD", 0.5), stage("CODE", 2)],
    edges: [
      ["LEAD", "CODE"],
      ["CODE", "LEAD"],
    ],
    loops: [{ stages: ["LEAD", "CODE"], max: 10, mean: 3 }],
  };

  it("counts expected rounds, never more than the bound, and nothing after it", () => {
    expect(validateGraph(loop).ok).toBe(true);
    const state = fresh();
    arrive(state, 0, "t", loop);
    expect(path(state)).toBeCloseTo(7.5, 9);
    for (let round = 1; round <= 10; round++) {
      run(state, "LEAD");
      expect(path(state)).toBeLessThanOrEqual(25);
      run(state, "CODE");
      if (round === 8) {
        expect(path(state)).toBeGreaterThan(0);
        expect(path(state)).toBeLessThanOrEqual(5);
      }
    }
    expect(path(state)).toBe(0);
    expect(state.counters["loopOverruns"]).toBeUndefined();
  });

  it("counts an eleventh round once and gives it no path credit, but takes the call", () => {
    const state = fresh();
    arrive(state, 0, "t", loop);
    for (let round = 1; round <= 10; round++) {
      run(state, "LEAD");
      run(state, "CODE");
    }
    ready(state, 1, "extra", { task: "t", stage: "LEAD" });
    expect(state.counters["loopOverruns"]).toBe(1);
    expect(state.waiting.has("extra")).toBe(true);
    expect(path(state)).toBe(0);
    expect(taskPath(state.tasks.get("t")!, meanEstimator(state)).residual("LEAD")).toBe(0);
  });

  it("the newest valid revision changes the bounds and keeps the rounds done", () => {
    const state = fresh();
    arrive(state, 0, "t", loop);
    for (let round = 1; round <= 8; round++) {
      run(state, "LEAD");
      run(state, "CODE");
    }
    step(state, {
      kind: "graphRevealed",
      at: 0,
      task: "t",
      graph: { ...loop, loops: [{ stages: ["LEAD", "CODE"], max: 8, mean: 3 }] },
    });
    expect(path(state)).toBe(0);
    expect(state.counters["graphsRevised"]).toBe(1);
  });
});

describe("K31 ready by the graph, held by the framework", () => {
  const superStep = (barrier: boolean): State => {
    const state = fresh();
    arrive(state, 0, "t", {
      stages: [stage("S", 1), stage("F", 0.2), stage("L", 3), stage("G", 1)],
      edges: [
        ["S", "F"],
        ["S", "L"],
        ["F", "G"],
      ],
      barrier,
    });
    run(state, "S");
    return state;
  };

  it("with a barrier the remaining path is 4.0 s and G waits for L", () => {
    const state = superStep(true);
    expect(path(state)).toBeCloseTo(4, 9);
    run(state, "F");
    expect(state.tasks.get("t")!.stages.get("G")!.status).toBe("blocked");
    run(state, "L");
    expect(state.tasks.get("t")!.stages.get("G")!.status).toBe("ready");
  });

  it("without one it is 3.0 s and G follows F", () => {
    const state = superStep(false);
    expect(path(state)).toBeCloseTo(3, 9);
    run(state, "F");
    expect(state.tasks.get("t")!.stages.get("G")!.status).toBe("ready");
  });
});

describe("K71 a branch fails, another is skipped", () => {
  const joined = (join?: "all" | "any_success" | "all_done"): State => {
    const state = fresh();
    arrive(state, 0, "t", {
      stages: [stage("S", 1), stage("A", 1), stage("B", 2), stage("C", 6), stage("J", 1, join === undefined ? {} : { join })],
      edges: [
        ["S", "A"],
        ["S", "B"],
        ["S", "C"],
        ["A", "J"],
        ["B", "J"],
        ["C", "J"],
      ],
    });
    run(state, "S");
    expect(path(state)).toBeCloseTo(7, 9);
    step(state, { kind: "stageSkipped", at: 0, task: "t", stage: "C" });
    expect(path(state)).toBeCloseTo(3, 9);
    ready(state, 0, "b", { task: "t", stage: "B" });
    step(state, { kind: "failed", at: 0, request: "b" });
    return state;
  };

  it.each([undefined, "all" as const])("join %s: the task fails with a reason and is worth nothing; S stays done", (join) => {
    const state = joined(join);
    const task = state.tasks.get("t")!;
    expect(task.failure).toContain("J");
    expect(path(state)).toBe(0);
    expect(frontier(task)).toEqual([]);
    expect(task.stages.get("S")!.status).toBe("done");
    ready(state, 0, "b2", { task: "t", stage: "B" });
    expect(task.failure).toBeNull();
  });

  it.each(["any_success", "all_done"] as const)("join %s: 2 s left, J ready when A is done", (join) => {
    const state = joined(join);
    expect(path(state)).toBeCloseTo(2, 9);
    expect(state.tasks.get("t")!.stages.get("J")!.status).toBe("blocked");
    run(state, "A");
    expect(state.tasks.get("t")!.stages.get("J")!.status).toBe("ready");
  });
});

describe("progress inferred from calls", () => {
  const chain: Graph = { stages: [stage("A", 1, { rounds: { max: 5, mean: 2 } }), stage("B", 2)], edges: [["A", "B"]] };

  it("a call of a successor ends its predecessors; one that still runs is counted", () => {
    const state = fresh();
    arrive(state, 0, "t", chain);
    run(state, "A");
    expect(state.tasks.get("t")!.stages.get("A")!.status).toBe("toolWait");
    ready(state, 0, "a2", { task: "t", stage: "A" });
    ready(state, 0, "b", { task: "t", stage: "B" });
    expect(state.tasks.get("t")!.stages.get("A")!.status).toBe("done");
    expect(state.counters["graphContradictions"]).toBe(1);
  });

  it("stages that appear unannounced are virtual; with or without a graph nothing breaks", () => {
    const state = fresh();
    arrive(state, 0, "t", chain);
    ready(state, 0, "odd", { task: "t", stage: "nobody said" });
    ready(state, 0, "none", { task: "bare", stage: "x" });
    expect(path(state)).toBeGreaterThan(0);
    expect(path(state, "bare")).toBeGreaterThan(0);
    step(state, { kind: "stageDone", at: 0, task: "t", stage: "unknown" });
    step(state, { kind: "stageDone", at: 0, task: "no such task", stage: "unknown" });
    expect(state.counters["unknownStages"]).toBe(2);
  });
});
