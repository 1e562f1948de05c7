import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import { redoSeconds } from "./estimate/cost.ts";
import { feasible } from "./feasible.ts";
import { overflowVictims } from "./preempt/overflow.ts";
import type { PolicyOptions } from "./policy/policy.ts";
import { setLeave, victimProgress } from "./preempt/voluntary.ts";
import { mean } from "./reserve/mean.ts";
import { peakTokens } from "./reserve/peak.ts";
import { createGains } from "./score/admit.ts";
import { agingFactor } from "./score/aging.ts";
import { moveCost } from "./score/move.ts";
import { redoCost } from "./score/redo.ts";
import { reuseValueSeconds } from "./score/reuse.ts";
import { revokeCost } from "./score/revoke.ts";
import { totalSeconds } from "./score/score.ts";
import type { EntryState, RequestState, State } from "./state.ts";
import { step } from "./step.ts";
import { admit, arrive, config, fresh, policy, ready, stage } from "./testing/builders.ts";
import { createView } from "./view.ts";

const entry = (tokens: number, onHost = false): EntryState => ({
  id: `prefix:${tokens}`,
  kind: "prefix",
  tokens,
  phase: "absent",
  cells: 0,
  onHost,
  users: 0,
  refs: 0,
  sessions: 0,
  loadFor: null,
  lastUseSeconds: 0,
  lastUseSeq: 0,
  base: null,
  task: null,
  dead: false,
});

/** A running request with y generated tokens. */
function running(state: State, id: string, generated: number, options: Parameters<typeof ready>[3] = {}): RequestState {
  ready(state, 0, id, options);
  admit(state, 0, id, 0);
  const request = state.running.get(id)!;
  if (generated > 0)
    step(state, {
      kind: "progress",
      at: 0,
      deltas: [{ request: id, prefilled: request.spec.ownPromptTokens, decoded: generated }],
    });
  return request;
}

describe("algorithm vectors", () => {
  it("V2: two ready branches of 10 and 4 before 1: gains 0, 6, then 4, summing to 10", () => {
    const state = fresh();
    arrive(state, 0, "t", {
      stages: [stage("B", 10), stage("C", 4), stage("D", 1)],
      edges: [
        ["B", "D"],
        ["C", "D"],
      ],
    });
    ready(state, 0, "b", { task: "t", stage: "B" });
    ready(state, 0, "c", { task: "t", stage: "C" });
    const view = createView(state, 0, mean);
    const gains = createGains(view, { ...policy("topas").options, gainFloor: 0, rho: 0 });
    const [b, c] = [state.waiting.get("b")!, state.waiting.get("c")!];
    expect(gains.gain(c, undefined)).toBeCloseTo(0, 9);
    expect(gains.gain(b, undefined)).toBeCloseTo(6, 9);
    expect(gains.gain(c, new Set(["B"]))).toBeCloseTo(4, 9);
    expect(gains.gain(b, undefined) + gains.gain(c, new Set(["B"]))).toBeCloseTo(10, 9);
  });

  it("V6: moving 8,000 out and 12,000 in costs 0.20972 s for each of three waiting tasks", () => {
    const fast = config({ speeds: { copyBytesPerSecond: 25e9 } });
    expect(moveCost(fast, [entry(12_000, true)], [entry(8_000)], 1, true)).toBeCloseTo(0.20972, 5);
    expect(moveCost(fast, [entry(12_000, true)], [entry(8_000)], 3, true)).toBeCloseTo(0.62915, 5);
    expect(moveCost(fast, [entry(12_000, true)], [entry(8_000)], 1, false)).toBeCloseTo(0.12583, 5);
    expect(moveCost(fast, [entry(12_000, true)], [entry(8_000)], 3, false)).toBeCloseTo(0.37749, 5);
    expect(moveCost(fast, [], [entry(8_000)], 0, true)).toBe(0);
  });

  it("V7: reuse value 0.25166 s for two coming uses of 12,000; redecoding 300 tokens costs 12 s", () => {
    const fast = config({ speeds: { copyBytesPerSecond: 25e9, decodeSecondsPerToken: 0.04 }, redo: "redecode" });
    const resident = entry(12_000);
    expect(reuseValueSeconds(fast.speeds, [resident], new Map([[resident.id, 2]]), 1)).toBeCloseTo(0.25166, 5);
    const state = fresh({ speeds: { decodeSecondsPerToken: 0.04 }, redo: "redecode" });
    expect(redoCost(state.config, [running(state, "r", 300)], "actual")).toBeCloseTo(12, 9);
  });

  it("V8: aging factors", () => {
    expect(agingFactor(1, 0, 1)).toBe(1);
    expect(agingFactor(1, 1, 1)).toBeCloseTo(1.6931, 4);
    expect(agingFactor(1, Math.E - 1, 1)).toBeCloseTo(2, 9);
    expect(agingFactor(1, 90, 10)).toBeCloseTo(3.3026, 4);
  });

  it.each([
    [1, 3.4657],
    [2, -5],
    [5, -30.3972],
  ])("V9, V31: preempt and readmit without progress under revokeFactor %d nets %d s", (factor, net) => {
    const state = fresh();
    ready(state, 0, "r");
    admit(state, 0, "r", 0, agingFactor(1, 10, 10) * 5);
    const again = agingFactor(1, 30, 10) * 5;
    expect(again - revokeCost([...state.running.values()], factor)).toBeCloseTo(net, 4);
  });

  it("V16: peak of the predicted profile", () => {
    const profile = [
      { left: 50, held: 1500 },
      { left: 100, held: 1000 },
      { left: 400, held: 800 },
    ];
    expect(peakTokens(profile)).toBe(3450);
    expect(
      peakTokens([
        { left: 100, held: 500 },
        { left: 100, held: 500 },
      ]),
    ).toBe(1200);
  });

  it("V24: a need of 1,000 takes exactly two victims of 600; q + l at B - 1 runs, at B and B + 1 it is refused at arrival", () => {
    const state = fresh();
    for (const id of ["a", "b", "c"]) running(state, id, 100, { own: 500 });
    expect(overflowVictims(state, 1000)).toHaveLength(2);
    const size = (total: number) => ({ prefixTokens: 5000, ownPromptTokens: total - 5000, maxTokens: 10 });
    expect(feasible(state.config, size(9_999))).toEqual({ ok: true });
    expect(feasible(state.config, size(10_000))).toEqual({ ok: false, needTokens: 10_001, limitTokens: 10_000 });
    expect(feasible(state.config, size(10_001)).ok).toBe(false);
  });

  it("V28: a fill without credit is dropped for 0.8 s; with its floored credit it stays", () => {
    const state = fresh({ redo: "redecode" });
    const r1 = running(state, "r1", 100);
    const score = () =>
      totalSeconds({ admit: 6, move: 0.2, redo: redoCost(state.config, [r1], "actual"), revoke: revokeCost([r1], 1), reuse: 0 });
    expect(score()).toBeCloseTo(0.8, 9);
    r1.creditSeconds = 5;
    expect(score()).toBeCloseTo(-4.2, 9);
  });

  it("V29: remaining tokens and need are capped by the client's limit", () => {
    const state = fresh({ budgetTokens: null });
    const short = running(state, "short", 390, { own: 0, max: 400, output: 400 });
    const long = running(state, "long", 500, { own: 0, max: 2048, output: 300 });
    const view = createView(state, 0, mean);
    expect(view.estimator.remainingTokens(short)).toBeCloseTo(10, 9);
    expect(view.needTokens(short)).toBe(400);
    expect(view.estimator.expectedOutputTokens(long)).toBeCloseTo(682, 9);
    expect(view.estimator.remainingTokens(long)).toBeCloseTo(182, 9);
    expect(view.needTokens(long)).toBe(682);
  });

  it("V30: victims up to half their progress, at most twice, by stage or by call", () => {
    const state = fresh();
    const guarded = policy("topas-guarded").options;
    const byCall = { ...guarded, guardScope: "call" as const };
    const eligible = (request: RequestState, options: PolicyOptions = byCall) =>
      setLeave.eligible(createView(state, 0, mean), request, options);
    expect(eligible(running(state, "half", 200, { output: 400 }))).toBe(true);
    expect(eligible(running(state, "over", 201, { output: 400 }))).toBe(false);
    const third = running(state, "third", 100, { output: 400 });
    state.tasks.get(third.spec.task)!.stages.get("s")!.voluntaryPreemptions = 2;
    expect(eligible(third)).toBe(false);
    arrive(state, 0, "multi", { stages: [stage("s", 100, { rounds: { max: 9, mean: 3 } })], edges: [] });
    const late = running(state, "late", 20, { task: "multi", output: 200 });
    state.tasks.get("multi")!.stages.get("s")!.attainedSeconds = 60;
    expect(victimProgress(createView(state, 0, mean), late, "stage")).toBeCloseTo(0.6, 9);
    expect(eligible(late, guarded)).toBe(false);
    expect(eligible(late)).toBe(true);
  });

  it("V33: the redo bill depends on what the engine loses", () => {
    const bill = (redo: "redecode" | "reprefill" | "swap") => {
      const state = fresh({ redo });
      return redoSeconds(state.config, running(state, "r", 300, { own: 500 }), "actual");
    };
    expect(bill("redecode")).toBeCloseTo(15, 9);
    expect(bill("reprefill")).toBeCloseTo(0.24, 9);
    expect(bill("swap")).toBeCloseTo(0.017476, 6);
  });

  it("V34: equal matches: lpm goes by ready time, lpm-task by task arrival", () => {
    const state = fresh({ maxRunning: 1 });
    arrive(state, 0, "one");
    arrive(state, 5, "two");
    ready(state, 6, "second", { task: "two" });
    ready(state, 9, "first", { task: "one" });
    expect(decide(state, policy("lpm"), 9).admit[0]!.request).toBe("second");
    expect(decide(state, policy("lpm-task"), 9).admit[0]!.request).toBe("first");
  });
});
