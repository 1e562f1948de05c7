import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { nearTermReuse } from "../estimate/near-term.ts";
import type { CoreEvent } from "../events.ts";
import { checkInvariants } from "../invariants.ts";
import { mean } from "../reserve/mean.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, fresh, policy, ready, stage } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { BLOCK, POOL, at, createRig, send } from "../testing/rig-e.ts";
import { createView, matchTokens } from "../view.ts";

const RIG = { budgetTokens: POOL * BLOCK, blockTokens: BLOCK, maxRunning: 8 } as const;
const idle = { runningKv: 0, promised: 0, pinned: 0, pendingFree: 0 };

const path = (state: State, task: string): number => createView(state, state.nowSeconds, mean).path(task)?.seconds() ?? 0;

describe("K09 changing the policy while calls wait", () => {
  it("44 ends, the next decision is the new policy's, after the return the rest leaves in order of arrival", () => {
    const names: string[] = [];
    const rig = createRig({
      policy: policy("fcfs"),
      config: { maxRunning: 4 },
      onDecision: (_, decision) => {
        names.push(`${decision.policy}@${Math.floor(decision.atSeconds)}`);
        expect([decision.preempt, decision.evict]).toEqual([[], []]);
      },
    });
    for (let i = 0; i < 44; i++)
      submit(rig, { id: `r${String(i).padStart(2, "0")}`, at: i / 1_000, prefix: [`p${i % 3}`, 320], own: 100, out: 32 });
    at(rig, 2, () => (rig.policy = policy("topas-nopre")));
    at(rig, 4, () => (rig.policy = policy("fcfs")));
    expect(run(rig)).toBe(true);
    const calls = [...rig.calls.values()];
    expect(calls.filter((c) => c.doneSeconds !== null)).toHaveLength(44);
    expect(new Set(names.filter((n) => n.endsWith("@3")))).toEqual(new Set(["topas-nopre@3"]));
    const late = calls.filter((c) => c.admittedSeconds! >= 4).map((c) => c.admittedSeconds!);
    expect(late.length).toBeGreaterThan(10);
    expect(late).toEqual(late.toSorted((a, b) => a - b));
    expect(rig.state.ledger).toMatchObject(idle);
  });
});

describe("K36 cancel at every possible moment", () => {
  it("leaves no promise, pin, slot or cell behind", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ after: fc.integer({ min: 0, max: 900 }), prefix: fc.nat({ max: 3 }) }), {
          minLength: 40,
          maxLength: 60,
        }),
        (calls) => {
          const rig = createRig({ policy: policy("topas"), lateFree: 1 });
          calls.forEach(({ after, prefix }, i) => {
            const id = `r${i}`;
            submit(rig, { id, at: i / 20, prefix: [`p${prefix}`, 1_600], own: 400, out: 12 });
            const when = i / 20 + after / 1_000;
            at(rig, when, () => send(rig, { kind: "cancelled", at: when, request: id }));
          });
          expect(run(rig)).toBe(true);
          expect(rig.state.requests.size).toBe(0);
          expect(rig.state.ledger).toMatchObject(idle);
        },
      ),
      { numRuns: 8, seed: 7 },
    );
  });
});

describe("K38 abort in the very tick of the last token", () => {
  function both(first: "cancelled" | "roundDone", prefixTokens: number): State {
    const state = fresh(RIG);
    arrive(state, 0, "t", { stages: [stage("parent", 1), stage("child", 1)], edges: [["parent", "child"]] });
    ready(state, 0, "r", { task: "t", stage: "parent", prefix: ["p", prefixTokens] });
    step(state, { kind: "committed", at: 0, decision: decide(state, policy("topas"), 0) });
    step(state, { kind: "progress", at: 1, deltas: [{ request: "r", prefilled: 100, decoded: 100 }] });
    const cancel: CoreEvent = { kind: "cancelled", at: 1, request: "r" };
    const finish: CoreEvent = { kind: "roundDone", at: 1, request: "r", retainedTokens: 0 };
    for (const event of first === "cancelled" ? [cancel, finish] : [finish, cancel]) step(state, event);
    expect(state.ledger).toMatchObject(idle);
    expect(checkInvariants(state)).toEqual([]);
    return state;
  }
  const child = (state: State): string => state.tasks.get("t")!.stages.get("child")!.status;

  it.each([0, 1, 16, 6_000])("prefix of %d tokens: a finish makes the child ready, a cancel never does", (tokens) => {
    expect(child(both("roundDone", tokens))).toBe("ready");
    expect(child(both("cancelled", tokens))).toBe("blocked");
  });
});

describe("K39 a half turn is not history", () => {
  it("turn 2 is predicted no more than what turn 0 left, and books stay whole", () => {
    const state = fresh(RIG);
    ready(state, 0, "t0", { task: "p", own: 640, max: 49, session: ["s", 0] });
    admit(state, 0, "t0", 704);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "t0", prefilled: 640, decoded: 49 }] });
    step(state, { kind: "roundDone", at: 1, request: "t0", retainedTokens: 688 });
    const match = (id: string): number => matchTokens(createView(state, 2, mean), state.waiting.get(id)!, new Set());
    ready(state, 2, "t1", { task: "p", own: 808, max: 100, session: ["s", 688] });
    expect(match("t1")).toBe(688);
    step(state, { kind: "committed", at: 2, decision: decide(state, policy("topas"), 2) });
    step(state, { kind: "progress", at: 2, deltas: [{ request: "t1", prefilled: 120, decoded: 2 }] });
    step(state, { kind: "cancelled", at: 2, request: "t1" });
    ready(state, 2.05, "t2", { task: "p", own: 818, max: 100, session: ["s", 688] });
    expect(match("t2")).toBeLessThanOrEqual(688);
    expect(checkInvariants(state)).toEqual([]);
    expect(decide(state, policy("topas"), 2.05).admit).toHaveLength(1);
  });
});

describe("K40 a task is cancelled, its children go on calling", () => {
  it("in the same tick its stages are worth nothing; another task keeps its times", () => {
    const state = fresh({ ...RIG, maxRunning: 1 });
    const graph = {
      stages: ["a", "q1", "q2", "q3", "b", "c"].map((id) => stage(id, 5, { agent: "x" })),
      edges: [
        ["a", "b"],
        ["b", "c"],
      ] as [string, string][],
    };
    arrive(state, 0, "T", graph);
    ready(state, 0, "run", { task: "T", stage: "a", agent: "x", prefix: ["X", 1_600] });
    admit(state, 0, "run", 200);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "run", prefilled: 100, decoded: 1 }] });
    for (const id of ["q1", "q2", "q3"]) ready(state, 1, id, { task: "T", stage: id, agent: "x", prefix: ["X", 1_600] });
    ready(state, 1, "other");
    expect(path(state, "T")).toBeGreaterThan(0);
    expect(nearTermReuse(createView(state, 1, mean)).size).toBe(1);
    step(state, { kind: "taskCancelled", at: 2, task: "T" });
    expect(path(state, "T")).toBe(0);
    expect(nearTermReuse(createView(state, 2, mean)).size).toBe(0);
    for (const id of ["run", "q1", "q2", "q3"]) step(state, { kind: "cancelled", at: 2, request: id });
    expect(state.tasks.has("T")).toBe(false);
    expect(decide(state, policy("topas"), 2).admit.map(({ request }) => request)).toEqual(["other"]);
    expect(checkInvariants(state)).toEqual([]);
  });
});

describe("K41 the upstream never answers", () => {
  it("a failed call fails its stage, gives everything back, and what only it would have led to is worth nothing", () => {
    const state = fresh(RIG);
    arrive(state, 0, "T", { stages: [stage("a", 5), stage("b", 5)], edges: [["a", "b"]] });
    ready(state, 0, "r", { task: "T", stage: "a", prefix: ["X", 1_600] });
    admit(state, 0, "r", 200);
    step(state, { kind: "failed", at: 3, request: "r" });
    expect(state.tasks.get("T")!.stages.get("a")!.status).toBe("failed");
    expect(state.tasks.get("T")!.failure).not.toBeNull();
    expect(path(state, "T")).toBe(0);
    expect(state.ledger).toMatchObject(idle);
    step(state, { kind: "taskDone", at: 3, task: "T" });
    expect(state.tasks.size).toBe(0);
  });
});
