import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Decision, Why } from "./events.ts";
import { queueHistory } from "./explain.ts";
import { feasible } from "./feasible.ts";
import { frameKey } from "./frame-key.ts";
import { checkInvariants } from "./invariants.ts";
import { policyIds } from "./policy/registry.ts";
import { overflowVictims } from "./preempt/overflow.ts";
import { mean } from "./reserve/mean.ts";
import { buildPool } from "./search/pool.ts";
import type { State } from "./state.ts";
import { step } from "./step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "./testing/builders.ts";
import { createWorld } from "./testing/world.ts";
import { createView } from "./view.ts";

const RIG = { budgetTokens: 2_048 * 16, blockTokens: 16, maxRunning: 8 } as const;
const BLOCK = 16;

/** A running call that holds exactly `blocks` blocks, the last 100 tokens of it generated. */
function hold(state: State, id: string, blocks: number, at = 0): void {
  ready(state, at, id, { own: blocks * BLOCK - 100, max: 100, output: 100 });
  admit(state, at, id, blocks * BLOCK);
  step(state, { kind: "progress", at, deltas: [{ request: id, prefilled: blocks * BLOCK - 100, decoded: 100 }] });
}

const commit = (state: State, at: number, decision: Decision): void => step(state, { kind: "committed", at, decision });
const waitingReason = (decision: Decision, id: string): string | undefined =>
  decision.why.find((why): why is Extract<Why, { reason: string }> => "reason" in why && why.request === id)?.reason;

describe("core cases", () => {
  it("K07 zero divided by zero: empty prefixes, prompts and history give finite, totally ordered scores", () => {
    const length = fc.constantFrom(0, 1, 15, 16, 6_000);
    const calls = fc.array(fc.record({ prefix: length, own: length, max: length }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.constantFrom(16, 2_048 * 16), calls, fc.constantFrom(...policyIds()), (budgetTokens, sizes, id) => {
        const state = fresh({ ...RIG, budgetTokens, speeds: { copyBytesPerSecond: 0, prefillSecondsPerToken: 0 } });
        sizes.forEach((size, i) =>
          ready(state, 0, `r${i}`, { prefix: [`p${i}`, size.prefix], own: size.own, max: size.max, output: 0 }),
        );
        const decision = decide(state, policy(id, { allFits: false }), 0);
        for (const why of decision.why)
          if ("candidate" in why) for (const term of Object.values(why.terms)) expect(Number.isFinite(term)).toBe(true);
        for (const { creditSeconds, needTokens } of decision.admit)
          expect(Number.isFinite(creditSeconds + needTokens)).toBe(true);
        commit(state, 0, decision);
        if (id !== "passthrough") expect(checkInvariants(state)).toEqual([]);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("K12 resumed into a full house, preempted again: readmitted only when the whole redo fits", () => {
    const state = fresh({ ...RIG, redo: "reprefill" });
    ready(state, 0, "X", { own: 6_000, max: 100, output: 100 });
    admit(state, 0, "X", 382 * BLOCK);
    step(state, { kind: "preempted", at: 1, request: "X", by: "engine", keptTokens: 0 });
    [290, 290, 285, 285, 285, 285, 284].forEach((blocks, i) => hold(state, `h${i}`, blocks, 1));
    const policyOver = policy("task-fcfs-o");
    step(state, { kind: "roundDone", at: 10, request: "h0", retainedTokens: 0 });
    expect(decide(state, policyOver, 10).admit).toEqual([]);
    step(state, { kind: "roundDone", at: 12, request: "h1", retainedTokens: 0 });
    expect(decide(state, policyOver, 12).admit.map(({ request }) => request)).toEqual(["X"]);
  });

  it("K13 freed is not yet usable: one victim for one need, and nothing is admitted on cells still pending", () => {
    const state = fresh(RIG);
    for (let i = 0; i < 6; i++) hold(state, `h${i}`, 340);
    const short = (300 - 8) * BLOCK;
    const victims = overflowVictims(state, short);
    expect(victims).toHaveLength(1);
    commit(state, 1, { ...decide(state, policy("fcfs"), 1), preempt: [{ request: victims[0]!, mode: "swap" }] });
    expect(state.ledger.pendingFree).toBe(340 * BLOCK);
    expect(overflowVictims(state, short)).toEqual([]);
    ready(state, 2, "urgent", { own: 300 * BLOCK - 100, max: 100, output: 100 });
    expect(decide(state, policy("fcfs-o"), 2).admit).toEqual([]);
    expect(checkInvariants(state)).toEqual([]);
    step(state, { kind: "preempted", at: 3, request: victims[0]!, by: "us", keptTokens: 340 * BLOCK });
    expect(decide(state, policy("lpm-task-o"), 3).admit).toHaveLength(1);
  });

  it("K13 freed is not yet usable: a victim is not taken back before the engine confirmed", () => {
    const state = fresh({ ...RIG, redo: "swap" });
    hold(state, "victim", 40);
    commit(state, 1, { ...decide(state, policy("fcfs"), 1), preempt: [{ request: "victim", mode: "swap" }] });
    expect(decide(state, policy("fcfs"), 1).admit).toEqual([]);
    expect(decide(state, policy("fcfs"), 2).admit).toEqual([]);
    step(state, { kind: "preempted", at: 3, request: "victim", by: "us", keptTokens: 639 });
    expect(decide(state, policy("fcfs"), 3).admit).toHaveLength(1);
  });

  it("K17 urgent call, all slots held: without preemption it waits and the reason is the slots", () => {
    const state = fresh(RIG);
    for (let i = 0; i < 8; i++) hold(state, `batch${i}`, 20);
    ready(state, 5, "urgent", { own: 300, max: 50, output: 50 });
    for (const id of ["fcfs", "lpm-task-o", "topas-nopre"]) {
      const decision = decide(state, policy(id), 5);
      expect(decision.preempt).toEqual([]);
      expect(waitingReason(decision, "urgent")).toBe("slots");
    }
  });

  it("K20 two loads each hold half and wait for the other: one owns everything, the other nothing", () => {
    for (const id of policyIds().filter((name) => name !== "passthrough")) {
      const state = fresh(RIG);
      bringIn(state, 0, "A", 500 * BLOCK, "host");
      bringIn(state, 0, "B", 375 * BLOCK, "host");
      ready(state, 0, "a", { prefix: ["A", 500 * BLOCK], own: 750 * BLOCK - 100, max: 100, output: 100 });
      ready(state, 0, "b", { prefix: ["B", 375 * BLOCK], own: 625 * BLOCK - 100, max: 100, output: 100 });
      const world = createWorld(state, policy(id), { outputTokens: () => 100 });
      world.settle();
      expect(state.running.size).toBe(1);
      const [other] = [...state.waiting.values()];
      expect(other!.promisedTokens + other!.cells).toBe(0);
      expect(state.entries.get(other!.prefix!)!.phase).toBe("absent");
      for (let i = 0; i < 40; i++) world.tick(1, 4_096);
      expect(state.requests.size).toBe(0);
    }
  });

  it("K25 pinned on look-up, never used: no pin and no half-loaded prefix outlives its requests", () => {
    const turn = fc.record({
      prefix: fc.nat({ max: 3 }),
      end: fc.constantFrom("cancelled", "failed", "roundDone", "loadFailed", "refused"),
    });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 30, maxLength: 60 }), (turns) => {
        const state = fresh({ maxRunning: 3 });
        turns.forEach(({ prefix, end }, i) => {
          const id = `r${i}`;
          ready(state, i, id, { prefix: [`p${prefix}`, 2_000] });
          commit(state, i, decide(state, policy("lpm-task-o"), i));
          if (end === "loadFailed") step(state, { kind: "loadFailed", at: i, entry: `prefix:p${prefix}` });
          else if (end === "roundDone") step(state, { kind: end, at: i, request: id, retainedTokens: 0 });
          else step(state, { kind: end, at: i, request: id, reason: "full" });
          expect(checkInvariants(state).filter((rule) => !rule.startsWith("free"))).toEqual([]);
        });
        for (const id of state.requests.keys()) step(state, { kind: "cancelled", at: 1_000, request: id });
        expect(state.ledger.pinned).toBe(0);
        expect([...state.entries.values()].filter((entry) => entry.users !== 0 || entry.phase === "loading")).toEqual([]);
      }),
      { numRuns: 20, seed: 7 },
    );
  });

  it("K26 the head of the queue can never run: refused with both numbers, headroom and output limit counted", () => {
    const { config } = fresh({ ...RIG, contextTokens: 131_072 });
    expect(feasible(config, { prefixTokens: 0, ownPromptTokens: 36_000, maxTokens: 10 })).toEqual({
      ok: false,
      needTokens: 36_016,
      limitTokens: 32_768,
    });
    const strict = { ...config, failsOnOverflow: true, headroomTokens: 768 };
    expect(feasible(strict, { prefixTokens: 0, ownPromptTokens: 31_000, maxTokens: 1_000 })).toEqual({ ok: true });
    expect(feasible(strict, { prefixTokens: 0, ownPromptTokens: 31_000, maxTokens: 1_001 })).toEqual({
      ok: false,
      needTokens: 32_016,
      limitTokens: 32_000,
    });
    expect(feasible({ ...config, contextTokens: 4_096 }, { prefixTokens: 4_000, ownPromptTokens: 96, maxTokens: 1 })).toEqual({
      ok: false,
      needTokens: 4_097,
      limitTokens: 4_096,
    });
    expect(
      feasible({ ...config, budgetTokens: null, contextTokens: null }, { prefixTokens: 1e9, ownPromptTokens: 0, maxTokens: 1 })
        .ok,
    ).toBe(true);
  });

  it("K30 ten thousand calls waiting: at most 64 heads per prefix are searched, the oldest always among them", () => {
    const state = fresh({ budgetTokens: 50_000 });
    for (let i = 0; i < 10_000; i++)
      ready(state, i, `r${i}`, { task: `t${i % 2_000}`, stage: `s${i}`, prefix: [`p${i % 50}`, 1_000], own: 100 + (i % 7) * 50 });
    const pool = buildPool(createView(state, 10_000, mean), policy("topas"));
    expect(pool.groups).toHaveLength(50);
    expect(pool.ranked.length).toBeLessThanOrEqual(64 * 50);
    expect(pool.ranked.some(({ request }) => request.spec.id === "r0")).toBe(true);
    expect(decide(state, policy("task-fcfs"), 10_000).admit[0]!.request).toBe("r0");
  });

  it("K35 cancelled calls still stand in the queue: gone at once, and the next is the oldest live one", () => {
    const state = fresh({ maxRunning: 1 });
    ready(state, 0, "busy");
    admit(state, 0, "busy", 200);
    for (let i = 0; i < 60; i++) ready(state, 1, `q${String(i).padStart(2, "0")}`);
    const cancelled = [...Array(60).keys()].filter((i) => i < 9 || i >= 19);
    for (const i of cancelled) step(state, { kind: "cancelled", at: 2, request: `q${String(i).padStart(2, "0")}` });
    expect(state.waiting.size).toBe(60 - cancelled.length);
    step(state, { kind: "roundDone", at: 3, request: "busy", retainedTokens: 0 });
    expect(decide(state, policy("fcfs"), 3).admit.map(({ request }) => request)).toEqual(["q09"]);
  });

  it('K56 ("acme1","2") is not ("acme","12")', () => {
    expect(frameKey("acme1", "2")).toBe("5:acme11:2");
    const part = fc.string({ unit: fc.constantFrom("a", "1", ":", "/", "|", "\0"), maxLength: 6 });
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => {
        expect(frameKey(a, b) === frameKey(c, d)).toBe(a === c && b === d);
      }),
      { numRuns: 10_000, seed: 7 },
    );
  });

  it("K70 the parent waits for its child: an open stage holds no slot, no promise, only breakable retention", () => {
    const state = fresh({ maxRunning: 1, budgetTokens: 3_000 });
    arrive(state, 0, "P", { stages: [stage("LEAD", 5, { rounds: { max: 4, mean: 2 } })], edges: [] });
    ready(state, 0, "lead1", { task: "P", stage: "LEAD", own: 2_000, max: 100, session: ["lead", 0] });
    admit(state, 0, "lead1", 2_100);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "lead1", prefilled: 2_000, decoded: 50 }] });
    step(state, { kind: "roundDone", at: 1, request: "lead1", retainedTokens: 2_050 });
    expect(state.tasks.get("P")!.stages.get("LEAD")!.status).toBe("toolWait");
    ready(state, 2, "child", { own: 1_500, max: 100 });
    const decision = decide(state, policy("topas"), 2);
    expect(decision.admit.map(({ request }) => request)).toEqual(["child"]);
    expect(decision.evict.map(({ entry }) => entry)).toEqual(["session:lead"]);
  });
});

describe("queue history", () => {
  it("counts passes and names who overtook", () => {
    const state = fresh({ maxRunning: 4 });
    ready(state, 0, "runs", { own: 500 });
    admit(state, 0, "runs", 600);
    ready(state, 0, "large", { own: 9_990, max: 10 });
    ready(state, 1, "small", { own: 10, max: 10 });
    commit(state, 1, decide(state, policy("fcfs-o"), 1));
    expect(queueHistory(state, "large")).toEqual({ passes: 1, overtakenBy: ["small"], preemptions: 0, refusals: 0 });
    expect(queueHistory(state, "small")).toEqual({ passes: 0, overtakenBy: [], preemptions: 0, refusals: 0 });
    expect(queueHistory(state, "gone")).toBeNull();
  });
});
