import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import type { Decision } from "../events.ts";
import { partition } from "../order/partition.ts";
import { inQuota } from "../preempt/in-quota.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import type { AllOptions } from "./baseline-options.ts";

const admitted = (decision: Decision): string[] => decision.admit.map(({ request }) => request);
const reasonOf = (decision: Decision, id: string): string | undefined =>
  decision.why.flatMap((why) => ("reason" in why && why.request === id ? [why.reason as string] : []))[0];

function commit(state: State, id: string, at: number, changes = {}): Decision {
  const decision = decide(state, policy(id, changes), at);
  step(state, { kind: "committed", at, decision });
  return decision;
}

describe("static-partition", () => {
  it("an agent that runs nothing starts; another call of it stays within its quota, and other agents go on", () => {
    const state = fresh({ budgetTokens: 8_000 });
    for (let i = 0; i < 6; i++) ready(state, 0, `big${i}`, { prefix: ["big", 1_000], own: 1_400, max: 100, output: 100 });
    ready(state, 0, "small", { prefix: ["small", 500], own: 100, max: 100, output: 100 });
    const decision = commit(state, "static-partition", 0);
    expect(admitted(decision)).toEqual(["big0", "big1", "small"]);
    expect(reasonOf(decision, "big2")).toBe("quota");
    const shares = partition(state, policy("static-partition").options as AllOptions);
    expect([...shares.pinned].toSorted()).toEqual(["prefix:big", "prefix:small"]);
    expect(shares.used.get("prefix:big")!).toBeLessThanOrEqual(shares.quotaTokens("prefix:big"));
    expect(admitted(decide(state, policy("static-partition"), 0))).toEqual([]);
  });

  it("overflow retracts within the agent furthest over its quota", () => {
    const state = fresh({ budgetTokens: 8_000 });
    for (const [id, agent, decoded] of [
      ["a1", "a", 10],
      ["a2", "a", 4_000],
      ["b1", "b", 5],
    ] as const) {
      ready(state, 0, id, { prefix: [agent, 100], own: 100, max: 5_000 });
      admit(state, 0, id, 200);
      step(state, { kind: "progress", at: 1, deltas: [{ request: id, prefilled: 100, decoded }] });
    }
    const rule = inQuota(policy("static-partition").options as AllOptions);
    expect(rule.overflow(state, 50)).toEqual(["a1"]);
  });
});

describe("pause-resume", () => {
  it("resumes programs with history before new ones, small before large; a new one waits while others are paused", () => {
    const state = fresh({ budgetTokens: 2_000 });
    for (const task of ["old1", "old2", "busy"]) {
      arrive(state, 0, task);
      ready(state, 0, `${task}.1`, { task, own: 10, max: 10 });
      admit(state, 0, `${task}.1`, 20);
      step(state, { kind: "roundDone", at: 1, request: `${task}.1`, retainedTokens: 0 });
    }
    ready(state, 1, "busy.2", { task: "busy", own: 800, max: 100 });
    admit(state, 1, "busy.2", 900);
    ready(state, 2, "new", { task: "new", own: 10, max: 10 });
    ready(state, 2, "old1.2", { task: "old1", own: 900, max: 300 });
    ready(state, 2, "old2.2", { task: "old2", own: 1_500, max: 100 });
    const decision = decide(state, policy("pause-resume"), 2);
    expect(admitted(decision)).toEqual(["old1.2"]);
    expect(reasonOf(decision, "new")).toBe("paused");
    expect(admitted(decide(state, policy("pause-resume"), 7))).toEqual(["old1.2", "new"]);
  });
});

describe("downstream-gate", () => {
  function chain(first: number, second: number): State {
    const state = fresh({ budgetTokens: 100_000 });
    const graph = { stages: [stage("A", 1), stage("B", 1)], edges: [["A", "B"]] as [string, string][] };
    for (let i = 0; i < first + second; i++) {
      arrive(state, i, `t${i}`, graph);
      const name = i < first ? "A" : "B";
      ready(state, i, `${name}${i}`, { task: `t${i}`, stage: name, agent: name, prefix: [name, 100] });
    }
    return state;
  }

  it("serves the most downstream agent with two ready calls, and stays with it", () => {
    const state = chain(3, 2);
    expect(admitted(commit(state, "downstream-gate", 9))).toEqual(["B3", "B4"]);
    expect(admitted(decide(state, policy("downstream-gate"), 9))).toEqual([]);
  });

  it("none downstream has enough: the one that has is served; an idle engine serves anyone", () => {
    expect(admitted(commit(chain(3, 1), "downstream-gate", 9))).toEqual(["A0", "A1", "A2"]);
    expect(admitted(commit(chain(1, 1), "downstream-gate", 9))).toEqual(["B1"]);
    expect(admitted(commit(chain(3, 1), "downstream-gate", 9, { gateRequests: 1 }))).toEqual(["B3"]);
  });
});

describe("quantum swap", () => {
  function longRunner(redo: "swap" | "reprefill", decoded = 150): State {
    const state = fresh({ budgetTokens: 1_000, redo });
    ready(state, 0, "long", { own: 100, max: 800, output: 800 });
    admit(state, 0, "long", 900);
    step(state, { kind: "progress", at: 9, deltas: [{ request: "long", prefilled: 100, decoded }] });
    ready(state, 10, "short", { own: 200, max: 50, output: 50 });
    return state;
  }

  it.each(["plas", "atlas"])("%s: a call past its quanta yields to a better class where the engine can swap", (id) => {
    const decision = decide(longRunner("swap"), policy(id), 10);
    expect(decision.preempt).toEqual([{ request: "long", mode: "swap" }]);
    expect(admitted(decision)).toEqual(["short"]);
    expect(decide(longRunner("reprefill"), policy(id), 10).preempt).toEqual([]);
    expect(decide(longRunner("swap"), policy("fcfs"), 10).preempt).toEqual([]);
  });

  it("not before the quantum is over, and only when the other does not fit", () => {
    expect(decide(longRunner("swap", 30), policy("plas"), 10).preempt).toEqual([]);
    const roomy = longRunner("swap");
    step(roomy, { kind: "budgetChanged", at: 10, budgetTokens: 2_000 });
    expect(decide(roomy, policy("plas"), 10)).toMatchObject({ preempt: [], admit: [{ request: "short" }] });
  });
});

it("fcfs: a preempted call keeps its place, or with requeue tail goes behind what came meanwhile", () => {
  const state = fresh({ maxRunning: 1 });
  ready(state, 0, "first");
  admit(state, 0, "first", 200);
  ready(state, 1, "second");
  step(state, { kind: "preempted", at: 2, request: "first", by: "engine", keptTokens: 0 });
  expect(admitted(decide(state, policy("fcfs"), 3))).toEqual(["first"]);
  expect(admitted(decide(state, policy("fcfs", { requeue: "tail" }), 3))).toEqual(["second"]);
});

it("lpm-task-age counts the passes of the task: a late stage of an old task passes a fresh match", () => {
  const state = fresh({ maxRunning: 1 });
  bringIn(state, 0, "hot", 500, "resident");
  arrive(state, 0, "old");
  for (let i = 0; i < 3; i++) {
    ready(state, 0, `r${i}`);
    commit(state, "fcfs", 0);
    step(state, { kind: "roundDone", at: 0, request: `r${i}`, retainedTokens: 0 });
  }
  ready(state, 1, "late", { task: "old" });
  ready(state, 1, "fresh", { prefix: ["hot", 500] });
  expect(admitted(decide(state, policy("lpm-age"), 1))).toEqual(["fresh"]);
  expect(admitted(decide(state, policy("lpm-task-age"), 1))).toEqual(["late"]);
});
