import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { CoreEvent, Graph, RequestSpec, TaskHints } from "./events.ts";
import { checkInvariants } from "./invariants.ts";
import { createPolicy, policyIds } from "./policy/registry.ts";
import { createState, type State } from "./state.ts";
import { step } from "./step.ts";
import { arrive, config, fresh, policy, ready, stage } from "./testing/builders.ts";
import { mean } from "./reserve/mean.ts";
import { createView } from "./view.ts";

const absurd = fc.constantFrom(Number.NaN, -1, -1e9, 0, 0.5, 1, 1e9, Infinity, -Infinity);
const id = fc.constantFrom("t0", "t1", "t2", "ghost");
const stageId = fc.constantFrom("s0", "s1", "s2", "ghost");
const hints: fc.Arbitrary<TaskHints> = fc.record(
  {
    remainingPathSeconds: absurd,
    remainingWorkSeconds: absurd,
    expectedOutputTokens: absurd,
    reserveTokens: absurd,
    nearTermReuse: absurd,
    toolWaitEndSeconds: absurd,
  },
  { requiredKeys: [] },
);
const edge = fc.tuple(stageId, stageId);
const graph: fc.Arbitrary<Graph> = fc.record({
  stages: fc.array(
    fc.record({
      id: fc.constantFrom("s0", "s1", "s2"),
      agent: fc.constantFrom("a", "b"),
      serviceSeconds: absurd,
      expectedOutputTokens: absurd,
      rounds: fc.record({ max: absurd, mean: absurd }),
    }),
    { maxLength: 4 },
  ),
  edges: fc.array(edge, { maxLength: 5 }),
  loops: fc.array(fc.record({ stages: fc.array(stageId, { maxLength: 3 }), max: absurd, mean: absurd }), { maxLength: 2 }),
  barrier: fc.boolean(),
});
const request: fc.Arbitrary<RequestSpec> = fc.record({
  id: fc.nat({ max: 8 }).map((n) => `r${n}`),
  task: id,
  stage: stageId,
  agent: fc.constantFrom("a", "b"),
  prefix: fc.option(fc.record({ id: fc.constantFrom("a", "b"), tokens: fc.constantFrom(0, 1, 100, 900) })),
  ownPromptTokens: fc.constantFrom(0, 1, 50, 400),
  maxTokens: fc.constantFrom(0, 1, 50, 300, Number.NaN, -5),
  expectedOutputTokens: fc.option(absurd),
  session: fc.option(fc.record({ id: fc.constantFrom("x", "y"), reusableTokens: fc.constantFrom(0, 10, 1e9) })),
});
const pick = fc.nat({ max: 8 }).map((n) => `r${n}`);
const event: fc.Arbitrary<CoreEvent> = fc.oneof(
  fc.record({
    kind: fc.constant("taskArrived" as const),
    at: absurd,
    task: fc.record({
      id,
      tenant: fc.constant("x"),
      workflow: fc.constant(null),
      arrivalSeconds: fc.constantFrom(-5, 0, 3, 1e12),
      weight: absurd,
    }),
  }),
  fc.record({ kind: fc.constant("graphRevealed" as const), at: absurd, task: id, graph }),
  fc.record({ kind: fc.constant("receiptUpdated" as const), at: absurd, task: id, stage: fc.option(stageId), hints }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ready" as const), at: absurd, request }) },
  fc.record({ kind: fc.constantFrom("stageDone" as const, "stageSkipped" as const), at: absurd, task: id, stage: stageId }),
  fc.record({ kind: fc.constantFrom("taskDone" as const, "taskCancelled" as const), at: absurd, task: id }),
  fc.record({ kind: fc.constantFrom("cancelled" as const, "failed" as const, "firstToken" as const), at: absurd, request: pick }),
  fc.record({
    kind: fc.constant("roundDone" as const),
    at: absurd,
    request: pick,
    retainedTokens: fc.constantFrom(0, -3, Number.NaN),
  }),
  fc.record({ kind: fc.constant("timer" as const), at: absurd }),
);

/** Times are the caller's own clock: finite and never far ahead. Everything else may be absurd. */
const tame = (e: CoreEvent, i: number): CoreEvent => ({ ...e, at: Number.isFinite(e.at) && e.at < 10 ? e.at : i });

function finite(state: State, policyId: string): void {
  const decision = decide(state, createPolicy(policyId)!, state.nowSeconds);
  for (const { needTokens, creditSeconds } of decision.admit) {
    expect(Number.isFinite(needTokens) && needTokens >= 0).toBe(true);
    expect(Number.isFinite(creditSeconds) && creditSeconds >= 0).toBe(true);
  }
  for (const why of decision.why)
    if ("candidate" in why) for (const term of Object.values(why.terms)) expect(Number.isFinite(term)).toBe(true);
  if (policyId === "passthrough") return;
  step(state, { kind: "committed", at: state.nowSeconds, decision });
  expect(checkInvariants(state)).toEqual([]);
}

describe("absurd, contradictory and repeated input", () => {
  it("never throws in a step or a decision, never makes a term infinite, and the books stay whole", () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 40 }), fc.constantFrom(...policyIds()), (events, policyId) => {
        const state = createState(config({ budgetTokens: 2_000, maxRunning: 3 }));
        events.forEach((e, i) => {
          step(state, tame(e, i));
          if (i % 4 === 3) finite(state, policyId);
        });
        finite(state, policyId);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("is counted: hints, cycles, unknown names and a stage that ends twice", () => {
    const state = fresh();
    arrive(state, 0, "t", { stages: [stage("a", 1), stage("b", 1)], edges: [["a", "b"]] });
    step(state, {
      kind: "receiptUpdated",
      at: 0,
      task: "t",
      stage: null,
      hints: { remainingPathSeconds: -1, reserveTokens: Number.NaN },
    });
    step(state, { kind: "graphRevealed", at: 0, task: "t", graph: { stages: [stage("a", 1)], edges: [["a", "a"]] } });
    step(state, { kind: "receiptUpdated", at: 0, task: "ghost", stage: null, hints: {} });
    step(state, { kind: "stageDone", at: 0, task: "t", stage: "ghost" });
    step(state, { kind: "roundDone", at: 0, request: "ghost", retainedTokens: 0 });
    expect(state.counters).toMatchObject({
      hintsRefused: 2,
      graphsRefused: 1,
      unknownTasks: 1,
      unknownStages: 1,
      unknownRequests: 1,
    });
    const seconds = (): number => createView(state, 0, mean).path("t")!.seconds();
    for (let i = 0; i < 2; i++) step(state, { kind: "stageDone", at: 0, task: "t", stage: "a" });
    expect(seconds()).toBeCloseTo(1, 9);
  });

  it("K67 a graph that changes in mid-run keeps what is done; the running call keeps its slot", () => {
    const state = fresh();
    arrive(state, 0, "t", { stages: [stage("a", 5), stage("b", 5)], edges: [["a", "b"]] });
    ready(state, 0, "r", { task: "t", stage: "a" });
    step(state, { kind: "committed", at: 0, decision: decide(state, policy("topas"), 0) });
    step(state, {
      kind: "graphRevealed",
      at: 1,
      task: "t",
      graph: { stages: [stage("b", 5), stage("c", 2)], edges: [["b", "c"]] },
    });
    expect(state.running.has("r")).toBe(true);
    step(state, { kind: "roundDone", at: 2, request: "r", retainedTokens: 0 });
    expect(createView(state, 2, mean).path("t")!.seconds()).toBeCloseTo(7, 9);
    expect(checkInvariants(state)).toEqual([]);
  });
});

describe("receipts", () => {
  it("move the estimates of their own task only, never a weight or another task", () => {
    fc.assert(
      fc.property(hints, fc.constantFrom(...policyIds()), (given, policyId) => {
        const build = (withHints: boolean): State => {
          const state = fresh({ budgetTokens: 1_000 });
          for (const task of ["one", "two"]) ready(state, 0, task, { task, own: 300, max: 200 });
          if (withHints) step(state, { kind: "receiptUpdated", at: 0, task: "one", stage: null, hints: given });
          return state;
        };
        const [plain, told] = [build(false), build(true)];
        const seconds = (state: State): number => createView(state, 0, mean).path("two")!.seconds();
        expect(seconds(told)).toBe(seconds(plain));
        expect(told.tasks.get("one")!.weight).toBe(1);
        finite(told, policyId);
      }),
      { numRuns: 120, seed: 7 },
    );
  });
});
