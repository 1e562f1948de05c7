import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { bestTtl, ttlValues } from "../evict/ttl-cdf.ts";
import { pressureFactor } from "../evict/saga.ts";
import { feasible } from "../feasible.ts";
import { criticalSeconds } from "../order/atlas.ts";
import { hrrn, processedTokens, responseRatio } from "../order/hrrn.ts";
import { lpmAge, passesOf } from "../order/lpm-age.ts";
import { classOf, serviceClass } from "../order/plas.ts";
import { completedSeconds } from "../order/service.ts";
import { latest } from "../preempt/latest.ts";
import { overflowVictims } from "../preempt/overflow.ts";
import { classAfter, quantumSeconds } from "../preempt/quantum.ts";
import { mean } from "../reserve/mean.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import { createView } from "../view.ts";
import type { AllOptions } from "./baseline-options.ts";

const optionsOf = (id: string, changes: Partial<AllOptions> = {}): AllOptions => policy(id, changes).options as AllOptions;

/** Runs a call to its end with this service, all of it decoding at h = 0.05. */
function serve(state: State, at: number, id: string, seconds: number): void {
  admit(state, at, id, 0);
  const { decodeSecondsPerToken: h } = state.config.speeds;
  step(state, { kind: "progress", at, deltas: [{ request: id, prefilled: 0, decoded: Math.round(seconds / h) }] });
  step(state, { kind: "roundDone", at, request: id, retainedTokens: 0 });
}

describe("vectors of the baselines", () => {
  it("V19: lpm-age with N 25: fresh hot requests win four passes, the cold one the fifth by queue order", () => {
    const state = fresh({ maxRunning: 1, budgetTokens: 100_000 });
    bringIn(state, 0, "hot", 100, "resident");
    ready(state, 0, "cold", { own: 10, output: 1 });
    const winners: string[] = [];
    for (let pass = 1; pass <= 5; pass++) {
      const id = `hot${pass}`;
      ready(state, pass, id, { prefix: ["hot", 100], own: 10, output: 1 });
      const { admit: admitted } = decide(state, policy("lpm-age", { tokensPerPass: 25 }), pass);
      expect(admitted).toHaveLength(1);
      winners.push(admitted[0]!.request);
      const view = createView(state, pass, mean);
      expect(passesOf(view, state.waiting.get("cold")!)).toBe(pass);
      if (state.waiting.has(id)) expect(passesOf(view, state.waiting.get(id)!)).toBe(1);
      step(state, { kind: "committed", at: pass, decision: decide(state, policy("lpm-age", { tokensPerPass: 25 }), pass) });
      for (const left of [...state.waiting.keys()].filter((name) => name !== "cold"))
        step(state, { kind: "cancelled", at: pass, request: left });
      for (const run of state.running.keys()) step(state, { kind: "roundDone", at: pass, request: run, retainedTokens: 0 });
    }
    expect(winners).toEqual(["hot1", "hot2", "hot3", "hot4", "cold"]);
  });

  it("V19: tokensPerPass 0 is lpm, and above `fallbackAbove` the queue order stands", () => {
    const state = fresh({ maxRunning: 1 });
    bringIn(state, 0, "hot", 100, "resident");
    ready(state, 0, "cold");
    ready(state, 1, "hot", { prefix: ["hot", 100] });
    const view = createView(state, 1, mean);
    const first = (options: Partial<AllOptions>) =>
      lpmAge(optionsOf("lpm-age", options)).sort(view, view.waiting, new Set())[0]!.spec.id;
    expect(first({ tokensPerPass: 0 })).toBe("hot");
    expect(first({ tokensPerPass: 0, fallbackAbove: 1 })).toBe("cold");
  });

  it("V20: hrrn after 1,000 tokens: uncached 10 before 100, and nothing uncached first of all", () => {
    expect(responseRatio(1_000, 10)).toBe(100);
    expect(responseRatio(1_000, 100)).toBe(10);
    expect(responseRatio(1_000, 0)).toBe(Infinity);
    const state = fresh({ budgetTokens: 100_000 });
    bringIn(state, 0, "warm", 500, "resident");
    ready(state, 0, "b", { own: 100 });
    ready(state, 0, "a", { own: 10 });
    ready(state, 0, "c", { own: 0, prefix: ["warm", 500] });
    ready(state, 1, "other", { own: 1_000 });
    admit(state, 1, "other", 1_100);
    step(state, { kind: "progress", at: 2, deltas: [{ request: "other", prefilled: 1_000, decoded: 0 }] });
    const view = createView(state, 2, mean);
    expect(processedTokens(view, state.waiting.get("a")!)).toBe(1_000);
    const sorted = hrrn(optionsOf("hrrn")).sort(view, view.waiting, new Set());
    expect(sorted.map((request) => request.spec.id)).toEqual(["c", "a", "b"]);
  });

  it("V21: a diamond that received A 3, B 5, C 2 is at 10 for plas and at 8 for atlas when D is ready", () => {
    const state = fresh();
    arrive(state, 0, "t", {
      stages: ["A", "B", "C", "D"].map((id) => stage(id, 1)),
      edges: [
        ["A", "B"],
        ["A", "C"],
        ["B", "D"],
        ["C", "D"],
      ],
    });
    for (const [id, seconds] of [
      ["A", 3],
      ["B", 5],
      ["C", 2],
    ] as const) {
      ready(state, 0, id, { task: "t", stage: id, own: 0 });
      serve(state, 0, id, seconds);
    }
    ready(state, 0, "D", { task: "t", stage: "D", own: 0 });
    const view = createView(state, 0, mean);
    const d = state.waiting.get("D")!;
    expect(completedSeconds(view, d)).toBeCloseTo(10, 9);
    expect(criticalSeconds(view, d)).toBeCloseTo(8, 9);
    expect([0, 1.9, 2, 6, 8, 10, 14].map(serviceClass)).toEqual([0, 0, 1, 2, 2, 2, 3]);
    expect(classOf(view, d, completedSeconds, 16)).toBe(2);
  });

  it("V22: ttl-cdf over waits 1, 1, 2, 30 with benefit 3 and price 0.5 keeps for 2 s", () => {
    expect(bestTtl([1, 1, 2, 30], 3, 0.5)).toEqual({ seconds: 2, value: 1.5 });
    expect(ttlValues([1, 1, 2, 30], 3, 0.5)).toEqual([
      { seconds: 1, value: 1 },
      { seconds: 2, value: 1.5 },
      { seconds: 30, value: -1.25 },
    ]);
    expect(bestTtl([30], 3, 0.5)).toEqual({ seconds: 0, value: 0 });
    expect(bestTtl([], 3, 0.5).seconds).toBe(0);
  });

  it("V23: the retention factor at use 0.6, 0.8, 0.95", () => {
    expect(pressureFactor(0.6)).toBe(1);
    expect(pressureFactor(0.8)).toBeCloseTo(0.75, 9);
    expect(pressureFactor(0.95)).toBeCloseTo(0.5, 9);
  });

  it("V24: a need of 1,000 takes exactly two victims of 600, by SGLang's rule the shortest, by vLLM's the latest", () => {
    const state = fresh();
    for (const [id, decoded] of [
      ["a", 100],
      ["b", 101],
      ["c", 102],
    ] as const) {
      ready(state, 0, id, { own: 500 });
      admit(state, 0, id, 0);
      step(state, { kind: "progress", at: 0, deltas: [{ request: id, prefilled: 500, decoded }] });
    }
    expect(overflowVictims(state, 1_000)).toEqual(["a", "b"]);
    expect(latest.overflow(state, 1_000)).toEqual(["c", "b"]);
    const size = (total: number) => ({ prefixTokens: 5_000, ownPromptTokens: total - 5_000, maxTokens: 10 });
    expect([9_999, 10_000, 10_001].map((total) => feasible(state.config, size(total)).ok)).toEqual([true, false, false]);
  });

  it("V34: equal match, task 1 ready at 9 and task 2 at 6: lpm by ready time, lpm-task by task", () => {
    const state = fresh({ maxRunning: 1 });
    arrive(state, 0, "one");
    arrive(state, 5, "two");
    ready(state, 6, "second", { task: "two" });
    ready(state, 9, "first", { task: "one" });
    expect(decide(state, policy("lpm"), 9).admit[0]!.request).toBe("second");
    for (const id of ["lpm-task", "lpm-task-o", "lpm-task-g", "task-fcfs"])
      expect(decide(state, policy(id), 9).admit[0]!.request).toBe("first");
  });

  it("a running call drops one class per quantum of 2, 4, 8, ... s", () => {
    expect([0, 1, 2].map(quantumSeconds)).toEqual([2, 4, 8]);
    expect([0, 1.9, 2, 5.9, 6, 13.9, 14].map((served) => classAfter(0, served))).toEqual([0, 0, 1, 1, 2, 2, 3]);
    expect(classAfter(2, 8)).toBe(3);
  });
});
