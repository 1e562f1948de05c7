import { describe, expect, it } from "vitest";
import { MOST_KEYS } from "../bounded.ts";
import { step } from "../step.ts";
import { admit, fresh, ready } from "../testing/builders.ts";
import { meanEstimator } from "./estimator.ts";
import { blendedMean } from "./blend.ts";
import { emptyProfile, observeCall, PRIOR, profileKeys } from "./profile.ts";

const output = (profile: ReturnType<typeof emptyProfile>, keys: readonly string[], declared: number | null = null): number =>
  blendedMean(
    profile,
    keys,
    (s) => s.calls,
    (s) => s.outputTokens,
    PRIOR.outputTokens,
    declared,
  );

describe("profile", () => {
  it("starts from the prior, moves to its own mean by eight samples, and lends to siblings through the parents", () => {
    const profile = emptyProfile();
    const keys = profileKeys("x", "coder", "fix");
    expect(output(profile, keys)).toBe(418);
    for (let i = 0; i < 8; i++) observeCall(profile, keys, 500, 100);
    expect(output(profile, keys)).toBeCloseTo(100, 9);
    expect(output(profile, profileKeys("x", "coder", "other"))).toBeCloseTo(100, 9);
    expect(output(profile, profileKeys("y", "coder", "fix"))).toBe(418);
  });

  it("takes a declared value at its word before samples, and hardly after 32", () => {
    const profile = emptyProfile();
    const keys = profileKeys("x", "coder", "fix");
    expect(output(profile, keys, 900)).toBe(900);
    for (let i = 0; i < 32; i++) observeCall(profile, keys, 500, 100);
    expect(output(profile, keys, 900)).toBeLessThan(200);
  });

  it("absurd hints are refused and counted, and move nothing", () => {
    const state = fresh();
    ready(state, 0, "r", { task: "t", max: 500 });
    const before = meanEstimator(state).tailSeconds(state.tasks.get("t")!);
    for (const value of [Number.NaN, -5, Infinity])
      step(state, { kind: "receiptUpdated", at: 0, task: "t", stage: null, hints: { remainingPathSeconds: value } });
    expect(state.counters["hintsRefused"]).toBe(3);
    expect(meanEstimator(state).tailSeconds(state.tasks.get("t")!)).toBe(before);
  });

  it("ever-new agents and prefixes do not fill memory when the budget is unknown", () => {
    const state = fresh({ budgetTokens: null });
    for (let i = 0; i < MOST_KEYS + 50; i++) {
      ready(state, i, `r${i}`, { agent: `a${i}`, prefix: [`p${i}`, 100] });
      admit(state, i, `r${i}`, 200);
      step(state, { kind: "roundDone", at: i, request: `r${i}`, retainedTokens: 0 });
      step(state, { kind: "taskDone", at: i, task: `task-r${i}` });
    }
    expect(state.entries.size).toBeLessThanOrEqual(MOST_KEYS + 1);
    expect(state.agentPrefix.size).toBeLessThanOrEqual(MOST_KEYS);
    expect(state.profile.stats.size).toBeLessThanOrEqual(MOST_KEYS);
    expect(state.tasks.size).toBe(0);
  });
});
