import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { mean } from "../reserve/mean.ts";
import { totalSeconds } from "../score/score.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import { createView } from "../view.ts";
import { searchSets } from "./candidates.ts";
import { createEvaluator } from "./evaluate.ts";
import { createPacker } from "./greedy-pack.ts";
import { buildPool } from "./pool.ts";
import { victimsOf } from "./victims.ts";

describe("eight equal branches", () => {
  const ROOM_PER_BRANCH = 1_500 + 200;
  function branches(fitting: number): State {
    const state = fresh({ budgetTokens: fitting * ROOM_PER_BRANCH });
    const names = Array.from({ length: 8 }, (_, i) => `b${i}`);
    for (const name of names) bringIn(state, 0, name, 1_500, "host");
    arrive(state, 0, "t", { stages: names.map((name) => stage(name, 11.25)), edges: [] });
    for (const name of names) ready(state, 0, name, { task: "t", stage: name, prefix: [name, 1_500], own: 100, output: 100 });
    return state;
  }
  const search = (fitting: number, gainFloor: number) => {
    const topas = policy("topas", { beta: 0, rho: 0, gainFloor });
    const state = branches(fitting);
    return { state, topas, result: searchSets(createView(state, 0, mean), topas) };
  };

  it.each([1, 2, 3, 7])("V25: with gainFloor 0.5 and room for %d the chosen score is 5.608616 each", (k) => {
    const { result } = search(k, 0.5);
    expect(result.best.admit).toHaveLength(k);
    expect(result.best.totalSeconds).toBeCloseTo(5.608616 * k, 6);
  });

  it.each([
    [1, -0.016384],
    [7, 7 * -0.016384],
    [8, 11.118928],
  ])("V25: without the floor starting %d scores %d", (k, seconds) => {
    const view = createView(branches(8), 0, mean);
    const bare = policy("topas", { beta: 0, rho: 0, gainFloor: 0 });
    const pool = buildPool(view, bare);
    const packer = createPacker(view, bare.options, pool, victimsOf(view, bare, pool));
    const set = Uint8Array.from(pool.groups, (_, i) => (i < k ? 1 : 0));
    expect(packer.open(set)).toBe(true);
    packer.fill();
    expect(packer.count).toBe(k);
    expect(totalSeconds(createEvaluator(view, bare, pool).terms(packer, set))).toBeCloseTo(seconds, 6);
  });

  it("V25: all eight score 50.493928 with the floor; without it fewer than eight never improve on nothing", () => {
    expect(search(8, 0.5).result.best.totalSeconds).toBeCloseTo(50.493928, 6);
    expect(search(7, 0).result.best.admit).toHaveLength(0);
    expect(search(7, 0).result.bestAdmitting!.totalSeconds).toBeCloseTo(-0.016384, 6);
  });

  it("V26: alone on an idle engine three branches start at 16.82585; without the floor only the idle rule starts them", () => {
    const { state, topas, result } = search(3, 0.5);
    expect(result.best.totalSeconds).toBeCloseTo(16.82585, 5);
    expect(decide(state, topas, 0).admit).toHaveLength(3);
    for (const workConserving of [true, false]) {
      const stalling = policy("topas", { beta: 0, rho: 0, gainFloor: 0, neverStalls: false, allFits: false, workConserving });
      expect(decide(branches(3), stalling, 0).admit).toEqual([]);
    }
    const bare = search(3, 0);
    expect(bare.result.best.admit).toHaveLength(0);
    expect(decide(bare.state, bare.topas, 0).admit.length).toBeGreaterThan(0);
  });
});

describe("livelock A", () => {
  function mirrored(): State {
    const state = fresh({ budgetTokens: 2_500 });
    for (const id of ["X", "Y"]) bringIn(state, 0, id, 2_000, "host");
    const two = (from: string, to: string) => ({
      stages: [stage("first", 10, { agent: from }), stage("then", 10, { agent: to })],
      edges: [["first", "then"]] as [string, string][],
    });
    arrive(state, 0, "t1", two("X", "Y"));
    arrive(state, 0, "t2", two("Y", "X"));
    ready(state, 0, "r1", { task: "t1", stage: "first", prefix: ["X", 2_000], own: 100, output: 100 });
    step(state, { kind: "loaded", at: 0, entry: "prefix:X", computedTokens: 0 });
    admit(state, 0, "r1", 200, 10);
    ready(state, 0, "r2", { task: "t2", stage: "first", prefix: ["Y", 2_000], own: 100, output: 100 });
    return state;
  }
  const move = (2_000 * 262_144) / 24e9;

  it.each([
    ["before", 1, 0],
    ["before", 3, 2 * move],
    ["after", 1, -move],
    ["after", 3, -move],
  ] as const)("V27: reuse %s the plan, beta %d: a swap gains %d s over nothing", (reuseState, beta, gain) => {
    const state = mirrored();
    const topas = policy("topas", { beta, rho: 0, billSwapOut: false, reuseState });
    const { best, noop, runnerUp } = searchSets(createView(state, 1, mean), topas);
    const swap = best.preempt.length > 0 ? best : runnerUp!;
    expect(swap.preempt).toHaveLength(1);
    expect(swap.totalSeconds - noop.totalSeconds).toBeCloseTo(gain, 9);
    expect(best.preempt).toHaveLength(gain > 0 ? 1 : 0);
  });

  it("V27: at one instant at most one decision preempts, whatever the mirror state promises", () => {
    const state = mirrored();
    const topas = policy("topas", { beta: 3, rho: 0, billSwapOut: false });
    const first = decide(state, topas, 1);
    expect(first.preempt.map(({ request }) => request)).toEqual(["r1"]);
    step(state, { kind: "committed", at: 1, decision: first });
    step(state, { kind: "preempted", at: 1, request: "r1", by: "us", keptTokens: 0 });
    for (const { entry } of first.evict) step(state, { kind: "evicted", at: 1, entry, keptOnHost: true });
    const second = decide(state, topas, 1);
    expect([second.preempt, second.admit]).toEqual([[], []]);
  });
});

describe("livelock B", () => {
  it("V32: the engine refuses what the preemption was for: nobody is tried again at this instant, then the victim returns", () => {
    const state = fresh({ budgetTokens: 2_500, redo: "redecode" });
    for (const id of ["X", "Y"]) bringIn(state, 0, id, 2_000, "host");
    arrive(state, 0, "t1", { stages: [stage("s", 2)], edges: [] });
    arrive(state, 0, "t2", { stages: [stage("s", 60)], edges: [] });
    ready(state, 0, "r1", { task: "t1", stage: "s", prefix: ["X", 2_000], own: 100, output: 100 });
    admit(state, 0, "r1", 200, 1);
    step(state, { kind: "loaded", at: 0, entry: "prefix:X", computedTokens: 0 });
    ready(state, 0, "r2", { task: "t2", stage: "s", prefix: ["Y", 2_000], own: 100, output: 100 });
    const topas = policy("topas", { rho: 0 });

    const plan = decide(state, topas, 1);
    expect(plan.preempt.map(({ request }) => request)).toEqual(["r1"]);
    expect(plan.admit.map(({ request }) => request)).toEqual(["r2"]);
    step(state, { kind: "committed", at: 1, decision: plan });
    for (const { request } of plan.preempt) step(state, { kind: "preempted", at: 1, request, by: "us", keptTokens: 0 });
    for (const { entry } of plan.evict) step(state, { kind: "evicted", at: 1, entry, keptOnHost: true });
    step(state, { kind: "refused", at: 1, request: "r2", reason: "full" });
    const again = decide(state, topas, 1);
    expect([again.preempt, again.admit]).toEqual([[], []]);
    expect(again.wakeAtSeconds).toBeGreaterThan(1);
    const later = decide(state, topas, again.wakeAtSeconds!);
    expect(later.admit.length).toBe(1);
    expect(later.preempt).toEqual([]);
  });
});
