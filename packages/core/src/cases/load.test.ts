import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import type { Why } from "../events.ts";
import { feasible } from "../feasible.ts";
import { mean } from "../reserve/mean.ts";
import { step } from "../step.ts";
import { admit, bringIn, fresh, policy, ready } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, BLOCK, POOL, at, createRig, send } from "../testing/rig-e.ts";
import { createView, matchTokens } from "../view.ts";

const RIG = { budgetTokens: POOL * BLOCK, blockTokens: BLOCK, maxRunning: 8 } as const;

describe("K48 old metrics, fast dispatch", () => {
  it.each(["fcfs", "topas"])(
    "%s: at most 8 in progress, a free place is refilled in its tick, the total is within 1.15",
    (id) => {
      let most = 0;
      const rig = createRig({
        policy: policy(id),
        config: { budgetTokens: null },
        onDecision: (state) => void (most = Math.max(most, state.running.size)),
      });
      for (let i = 0; i < 200; i++) submit(rig, { id: `r${i}`, at: 0, own: 1, out: 17 });
      expect(run(rig)).toBe(true);
      const alone = 1 / 8_000 + 16 * 0.03;
      expect(most).toBe(8);
      expect(rig.nowSeconds).toBeLessThanOrEqual(1.15 * 25 * alone);
    },
  );
});

describe("K61 load that shows up too late", () => {
  it("is booked when the decision is committed, before any byte is back, and returned once", () => {
    const state = fresh({ ...RIG, blockTokens: 1, failsOnOverflow: true });
    ready(state, 0, "r", { own: 12_000, max: 1 });
    step(state, { kind: "committed", at: 0, decision: decide(state, policy("fcfs"), 0) });
    expect(state.ledger.promised).toBe(12_001);
    step(state, { kind: "roundDone", at: 3, request: "r", retainedTokens: 0 });
    step(state, { kind: "failed", at: 3, request: "r" });
    expect(state.ledger.promised).toBe(0);
  });
});

describe("K63 few calls can fill the pool", () => {
  it("room is measured in KV: three calls of 10,000 leave no place for 4,000, five of 300 do", () => {
    const loaded = (calls: number, tokens: number) => {
      const state = fresh(RIG);
      for (let i = 0; i < calls; i++) {
        ready(state, 0, `r${i}`, { own: tokens - 100, max: 100 });
        admit(state, 0, `r${i}`, tokens);
      }
      ready(state, 1, "new", { own: 3_900, max: 100, output: 100 });
      return decide(state, policy("topas-nopre"), 1);
    };
    const full = loaded(3, 10_000);
    expect(full.admit).toEqual([]);
    expect(full.why.find((why): why is Extract<Why, { reason: string }> => "reason" in why)?.reason).toBe("didNotFit");
    expect(loaded(5, 300).admit).toHaveLength(1);
  });
});

describe("K58 the index believes in KV that is gone", () => {
  it("(a) what the engine reports gone is believed at once, and believed again with the first load", () => {
    const state = fresh(RIG);
    bringIn(state, 0, "CODE", 8_992, "resident");
    const match = (id: string): number => {
      ready(state, 1, id, { prefix: AGENT.CODE, own: 208 });
      return matchTokens(createView(state, 1, mean), state.waiting.get(id)!, new Set());
    };
    expect(match("warm")).toBe(8_992);
    step(state, { kind: "evicted", at: 1, entry: "prefix:CODE", keptOnHost: false });
    expect(match("cold")).toBe(0);
    step(state, { kind: "loaded", at: 1, entry: "prefix:CODE", computedTokens: 8_992 });
    expect(match("again")).toBe(8_992);
  });

  it("(b) at rest the books equal the engine's own table; a probe sent twice in a row hits the second time", () => {
    const rig = createRig({ policy: policy("topas"), lateFree: 1 });
    let seed = 7;
    const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
    for (let i = 0; i < 600; i++) {
      const agent = Math.floor(random() * 12);
      submit(rig, { id: `r${i}`, at: i * 0.4, prefix: [`a${agent}`, 2_400 + 160 * agent], own: 100, out: 3 });
      const abortAt = i * 0.4 + random() * 0.3;
      if (random() < 0.05) at(rig, abortAt, () => send(rig, { kind: "cancelled", at: abortAt, request: `r${i}` }));
    }
    for (const [i, when] of [
      [0, 300],
      [1, 310],
    ] as const)
      submit(rig, { id: `probe${i}`, at: when, prefix: AGENT.CODE, own: 100, out: 3 });
    expect(run(rig)).toBe(true);
    const believed = [...rig.state.entries.values()].filter((entry) => entry.phase === "resident");
    expect(new Map(believed.map((entry) => [entry.id, entry.tokens]))).toEqual(rig.resident);
    expect(rig.evictions.length).toBeGreaterThan(20);
    expect(rig.calls.get("probe1")!.cachedTokens).toBe(8_992);
  });
});

describe("K28 a conversation that will outgrow the pool", () => {
  it("rounds one to four fit, the fifth is refused with both numbers", () => {
    const { config } = fresh(RIG);
    const fits = [6_000, 13_000, 20_000, 27_000, 34_000].map((own) =>
      feasible(config, { prefixTokens: 0, ownPromptTokens: own, maxTokens: 100 }),
    );
    expect(fits.map(({ ok }) => ok)).toEqual([true, true, true, true, false]);
    expect(fits[4]).toMatchObject({ needTokens: 34_016, limitTokens: 32_768 });
  });
});

describe("K65 looks equal, is not", () => {
  it.each([
    ["composed and decomposed", "caf\u00e9", "cafe\u0301"],
    ["a joiner inside", "\u{1F469}\u200D\u{1F52C}", "\u{1F469}\u{1F52C}"],
    ["line ends", "a\r\nb", "a\nb"],
    ["spaces", "a\u00A0b", "a b"],
  ])("%s: two prefixes", (_, one, two) => {
    const state = fresh(RIG);
    ready(state, 0, "a", { prefix: [one, 1_600] });
    ready(state, 0, "b", { prefix: [two, 1_600] });
    expect(state.entries.size).toBe(2);
  });
});

describe("K76 a task from the future", () => {
  it.each([
    [130, 10],
    [-50, -50],
    [Number.NaN, 10],
    [Number.POSITIVE_INFINITY, 10],
    [Number.NEGATIVE_INFINITY, 10],
  ])("arrival %d at second 10 counts as %d; decisions stay finite", (arrivalSeconds, expected) => {
    const state = fresh({ ...RIG, maxRunning: 1 });
    step(state, { kind: "timer", at: 10 });
    step(state, { kind: "taskArrived", at: 10, task: { id: "t", tenant: "x", workflow: null, arrivalSeconds } });
    expect(state.tasks.get("t")!.arrivalSeconds).toBe(expected);
    ready(state, 10, "r", { task: "t" });
    const { admit: admitted } = decide(state, policy("topas"), 10);
    expect(Number.isFinite(admitted[0]!.creditSeconds)).toBe(true);
  });

  it("K75: an event older than the last one happens now, and is counted", () => {
    const state = fresh(RIG);
    step(state, { kind: "timer", at: 10 });
    ready(state, 4, "late");
    expect(state.waiting.get("late")!.readySeconds).toBe(10);
    expect(state.counters["clockBackwards"]).toBeGreaterThan(0);
  });
});
