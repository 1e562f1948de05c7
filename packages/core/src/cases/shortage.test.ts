import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { overRetracted } from "../explain.ts";
import { redoSeconds } from "../estimate/cost.ts";
import { policyIds } from "../policy/registry.ts";
import { step } from "../step.ts";
import { admit, bringIn, fresh, policy, ready } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, BLOCK, POOL, createRig, send, at } from "../testing/rig-e.ts";

const RIG = {
  budgetTokens: POOL * BLOCK,
  blockTokens: BLOCK,
  maxRunning: 8,
  speeds: { prefillSecondsPerToken: 1 / 8_000, decodeSecondsPerToken: 0.03, kvBytesPerToken: 131_072, copyBytesPerSecond: 2e9 },
} as const;

describe("K14 a retracted call is not a new arrival", () => {
  it.each(["fcfs", "fcfs-o", "task-fcfs", "lpm-task", "lpm-task-o", "hrrn-task", "topas-guarded"])(
    "%s: it keeps its arrival and stands ahead of everybody who never started",
    (id) => {
      const state = fresh({ ...RIG, maxRunning: 1, redo: "reprefill" });
      ready(state, 0, "R", { own: 2_900, max: 200, output: 200 });
      admit(state, 1, "R", 3_104);
      for (let i = 0; i < 10; i++) ready(state, 2, `n${i}`, { own: 2_900, max: 200, output: 200 });
      step(state, { kind: "progress", at: 3, deltas: [{ request: "R", prefilled: 2_900, decoded: 100 }] });
      step(state, { kind: "preempted", at: 4, request: "R", by: "engine", keptTokens: 0 });
      expect(state.waiting.size).toBe(11);
      expect(state.waiting.get("R")).toMatchObject({ readySeconds: 0, readySeq: 1, preemptions: 1, promisedTokens: 0 });
      expect(decide(state, policy(id), 5).admit.map(({ request }) => request)).toEqual(["R"]);
    },
  );
});

describe("K14 the limit on retractions", () => {
  it("counts what the engine forced, not what a policy chose; the fourth passes a limit of three", () => {
    const state = fresh({ ...RIG, redo: "reprefill" });
    ready(state, 0, "R", { own: 2_900, max: 200, output: 200 });
    const seen: boolean[] = [];
    for (let i = 0; i < 5; i++) {
      admit(state, 3 * i + 1, "R", 3_104);
      if (i === 0) {
        const preempt = [{ request: "R", mode: "cancel" as const }];
        const decision = { ...decide(state, policy("fcfs"), 2), admit: [], preempt };
        step(state, { kind: "committed", at: 2, decision });
        step(state, { kind: "preempted", at: 2, request: "R", by: "us", keptTokens: 0 });
      } else step(state, { kind: "preempted", at: 3 * i + 2, request: "R", by: "engine", keptTokens: 0 });
      seen.push(overRetracted(state, "R", 3));
    }
    expect(seen).toEqual([false, false, false, false, true]);
    expect(state.waiting.get("R")).toMatchObject({ preemptions: 5, retractions: 4 });
    expect(overRetracted(state, "R", null)).toBe(false);
    expect(overRetracted(state, "gone", 3)).toBe(false);
  });
});

describe("K16 what a preemption costs depends on the engine", () => {
  const bill = (redo: "reprefill" | "redecode" | "swap" | "unknown"): number => {
    const state = fresh({ ...RIG, redo });
    bringIn(state, 0, "PLAN", 6_000, "resident");
    ready(state, 0, "r", { prefix: AGENT.PLAN, own: 200, max: 400 });
    admit(state, 0, "r", 608);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "r", prefilled: 200, decoded: 300 }] });
    return redoSeconds(state.config, state.running.get("r")!, "actual");
  };

  it("0.0625 s recomputed beside its prefix, 9 s decoded again, two copies swapped; undeclared is the dearest", () => {
    expect(bill("reprefill")).toBeCloseTo(0.0625, 9);
    expect(bill("redecode")).toBeCloseTo(9, 9);
    expect(bill("swap")).toBeCloseTo(0.0671, 4);
    expect(bill("unknown")).toBeCloseTo(9, 9);
  });

  it("a policy without voluntary preemption never generates one", () => {
    expect(policy("topas-nopre").preempt.voluntary).toBe(false);
  });
});

describe("K12 resumed into a full house, preempted again", () => {
  it("on rig E the call comes back once, when all of it fits, and redoes no more than it had", () => {
    const back: number[] = [];
    const rig = createRig({
      policy: policy("fcfs-o"),
      config: { redo: "reprefill" },
      onDecision: (_, { atSeconds, admit: taken }) => void (taken.some(({ request }) => request === "X") && back.push(atSeconds)),
    });
    submit(rig, { id: "X", at: 0, own: 6_000, out: 100 });
    const holders = [290, 290, 285, 285, 285, 285, 284].map((blocks, i) => ({
      id: `h${i}`,
      blocks,
      out: [150, 220][i] ?? 2_000,
    }));
    for (const { id, blocks, out } of holders) submit(rig, { id, at: 1.5, own: blocks * BLOCK - out, out });
    at(rig, 1.5, () => {
      send(rig, { kind: "preempted", at: rig.nowSeconds, request: "X", by: "engine", keptTokens: 0 });
      for (const { id, blocks } of holders) admit(rig.state, rig.nowSeconds, id, blocks * BLOCK);
    });
    expect(run(rig)).toBe(true);
    const [first, second] = ["h0", "h1"].map((id) => rig.calls.get(id)!.doneSeconds!);
    expect(first).toBeLessThan(second!);
    expect(back).toEqual([0, second]);
    expect(rig.preemptions).toEqual([]);
    expect(rig.calls.get("X")!.redoneTokens).toBeLessThanOrEqual(6_100);
  });
});

describe("K20 two loads each hold half and wait for the other", () => {
  it.each(policyIds().filter((id) => id !== "passthrough"))("%s: both finish on rig E with a host tier", (id) => {
    let held = 0;
    const rig = createRig({
      policy: policy(id),
      config: { hostTier: true },
      onDecision(state) {
        for (const request of state.waiting.values()) held = Math.max(held, request.promisedTokens + request.cells);
      },
    });
    bringIn(rig.state, 0, "A", 500 * BLOCK, "host");
    bringIn(rig.state, 0, "B", 375 * BLOCK, "host");
    submit(rig, { id: "a", at: 0, prefix: ["A", 500 * BLOCK], own: 750 * BLOCK - 100, out: 100 });
    submit(rig, { id: "b", at: 0, prefix: ["B", 375 * BLOCK], own: 625 * BLOCK - 100, out: 100 });
    expect(run(rig, 120)).toBe(true);
    expect([...rig.calls.values()].every((c) => c.doneSeconds !== null)).toBe(true);
    expect(held).toBe(0);
  });
});
