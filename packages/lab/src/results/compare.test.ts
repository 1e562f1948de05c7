import { describe, expect, it } from "vitest";
import { answer } from "../questions.ts";
import { lossesOf } from "../losses.ts";
import type { Question } from "../presets/preset.ts";
import { compareAll, verdictOf } from "./compare.ts";
import { NO_METRICS } from "./metrics.ts";
import type { Run } from "./schema.ts";

function runs(
  policy: string,
  condition: string,
  fit: string,
  means: readonly number[],
  table = "t",
): (Run & { table: string })[] {
  return means.map((jctMeanS, i) => ({
    workload: "w",
    arrival: "poisson",
    load: 0.8,
    budgetTokens: 20_000,
    hostTier: "pcie",
    policy,
    options: { setting: "s", ratePerSecond: 0.1, rules: "joint", fit, reserve: "mean", maxTokens: "preset" },
    condition,
    seed: i + 1,
    metrics: { ...NO_METRICS, jctMeanS, contendedShare: 0.5 },
    inputs: "x",
    unstable: false,
    error: null,
    table,
  }));
}

const all = [
  ...runs("lpm", "A", "stop", [20, 22, 21, 19, 20, 21, 23, 20]),
  ...runs("fcfs", "A", "stop", [30, 32, 31, 29, 30, 31, 33, 30]),
  ...runs("task-fcfs-o", "C", "over", [9, 11, 10, 9, 10, 10, 11, 10]),
  ...runs("topas", "D", "over", [12, 13, 13, 11, 12, 12, 14, 12]),
  ...runs("kv-index-safe", "D", "over", [10, 10, 11, 9, 10, 11, 10, 10]),
];

describe("comparisons", () => {
  const found = compareAll(all);
  const row = (policy: string, baseline: string) => found.find((each) => each.policy === policy && each.baseline === baseline)!;
  it("pair the seeds of one setting, every joint policy against every other row", () => {
    expect(found).toHaveLength(2 * 4);
    expect(row("topas", "lpm")).toMatchObject({
      verdict: "wins",
      pairs: 8,
      contendedShare: 0.5,
      bestShipped: true,
      sameEngine: false,
    });
    expect(row("topas", "fcfs").bestShipped).toBe(false);
    expect(row("topas", "task-fcfs-o")).toMatchObject({ verdict: "loses", sameEngine: true });
    expect(row("kv-index-safe", "task-fcfs-o").verdict).toBe("ties");
    for (const { p, pHolm } of found) expect(pHolm).toBeGreaterThanOrEqual(p);
  });
  it("list losses to other schedulers, not to one another", () => {
    expect(lossesOf(found).map(({ policy, baseline }) => [policy, baseline])).toEqual([["topas", "task-fcfs-o"]]);
  });
  it("say the same again for the same runs", () => expect(compareAll(all)).toEqual(found));
  it("turn the verdict round where more is better", () => {
    expect(verdictOf([0.8, 0.9])).toBe("wins");
    expect(verdictOf([0.8, 0.9], true)).toBe("loses");
    expect(verdictOf([0.9, 1.1], true)).toBe("ties");
  });
});

describe("questions", () => {
  const base: Question = {
    test: "q",
    question: "?",
    tables: ["t"],
    policies: ["topas"],
    baselines: ["lpm"],
    metrics: ["jctMeanS"],
    rule: { kind: "compare" },
  };
  it("compare", () => expect(answer({ ...base, baselines: ["lpm", "task-fcfs-o"] }, all).verdict).toBe("topas mixed"));
  it("within", () => {
    expect(answer({ ...base, rule: { kind: "within", limit: 0.01 } }, all).verdict).toBe("does not hold");
    expect(answer({ ...base, rule: { kind: "within", limit: 0.5 } }, all).verdict).toBe("holds");
  });
  it("recovers: oldest task first alone has more than the whole gain over lpm", () => {
    const said = answer({ ...base, baselines: ["lpm", "task-fcfs-o"], rule: { kind: "recovers" } }, all);
    expect(said.verdict).toMatch(/up to 1[0-9]{2} %/);
  });
  it("regret", () =>
    expect(answer({ ...base, baselines: ["kv-index-safe"], rule: { kind: "regret" } }, all).verdict).toMatch(/topas 2\d\.\d %/));
  it("not measured", () => expect(answer({ ...base, tables: ["other"] }, all).verdict).toBe("not measured"));
});
