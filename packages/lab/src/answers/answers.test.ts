import { describe, expect, it } from "vitest";
import type { Question, Rule } from "../presets/preset.ts";
import { answer } from "../questions.ts";
import { answerFigures } from "../report/answer-figures.ts";
import { NO_METRICS } from "../results/metrics.ts";
import type { Falsification, Run } from "../results/schema.ts";

type TabledRun = Run & { readonly table: string };

/** Three seeds around a mean; p99 is three times that. */
function row(
  policy: string,
  condition: string,
  jctMeanS: number,
  changes: Partial<Run> & { setting?: string } = {},
): TabledRun[] {
  const { setting = "s", ...rest } = changes;
  return [0.99, 1, 1.01].map((factor, i) => ({
    workload: "w",
    arrival: "poisson",
    load: 0.8,
    budgetTokens: 20_000,
    hostTier: "pcie",
    policy,
    options: { setting, ratePerSecond: 0.1, rules: "joint", fit: "over", reserve: "peak", maxTokens: "preset" },
    condition,
    seed: i,
    metrics: {
      ...NO_METRICS,
      tasks: 10,
      jctMeanS: jctMeanS * factor,
      jctP99S: 3 * jctMeanS * factor,
      preemptions: 20,
      waitMaxS: 5,
      starved: 0,
      contendedShare: 0.5,
    },
    inputs: "x",
    unstable: false,
    error: null,
    table: "t",
    ...rest,
  }));
}

function ask(rule: Rule, runs: readonly TabledRun[], changes: Partial<Question> = {}): Falsification {
  const metrics = ["jctMeanS"] as const;
  const question = {
    test: "Q 1",
    question: "?",
    tables: ["t"],
    policies: ["ours"],
    baselines: ["a", "b"],
    metrics,
    rule,
    ...changes,
  };
  return answer(question, runs);
}

const three = [...row("ours", "D", 10), ...row("a", "B", 11), ...row("b", "C", 9.95)];

describe("rules", () => {
  it("best: against the best baseline of each setting, one-sided", () => {
    expect(ask({ kind: "best", limit: 0.01 }, three).verdict).toBe("ours holds");
    expect(ask({ kind: "best", limit: 0.001 }, three).verdict).toBe("ours does not hold");
    expect(ask({ kind: "best", limit: 0.001 }, three).detail).toContain("1.005 of b");
    expect(ask({ kind: "best", limit: 0.001 }, [...row("ours", "D", 5), ...row("b", "C", 10)]).verdict).toBe("ours holds");
  });

  it("firstBehind: the first setting in order in which a policy loses", () => {
    const runs = ["mild", "worse", "worst"].flatMap((setting, i) => [
      ...row("ours", "D", 9 + i, { setting }),
      ...row("a", "B", 9.5, { setting }),
    ]);
    expect(ask({ kind: "firstBehind" }, runs, { baselines: ["a"] }).verdict).toContain("at w, load 0.80, host pcie, worse");
    expect(ask({ kind: "firstBehind" }, runs.slice(0, 6), { baselines: ["a"] }).verdict).toBe("no policy falls behind a");
  });

  it("fair: met only when the mean falls enough, p99 is not worse and the engine is the same", () => {
    const rule = { kind: "fair", percent: 8, fromLoad: 0.8 } as const;
    expect(ask(rule, [...row("ours", "D", 9), ...row("a", "B", 10)]).verdict).toBe("ours met");
    expect(ask(rule, [...row("ours", "D", 9.3), ...row("a", "B", 10)]).verdict).toBe("ours not met");
    expect(ask(rule, [...row("ours", "D", 9), ...row("a", "B", 10), ...row("b", "C", 9.1)]).verdict).toBe("ours not met");
    const other = row("a", "B", 10).map((run) => ({ ...run, options: { ...run.options, reserve: "mean" } }));
    expect(ask(rule, [...row("ours", "D", 9), ...other]).verdict).toBe("ours not measured");
    const low = [...row("ours", "D", 9, { load: 0.65 }), ...row("a", "B", 10, { load: 0.65 })];
    expect(ask(rule, low).verdict).toBe("ours not measured");
  });

  it("clairvoyant: each policy against the reference at its own place", () => {
    const runs = [
      ...row("ours", "D", 10.4),
      ...row("other", "D", 12),
      ...row("a", "reference", 10),
      ...row("b", "reference", 10),
    ];
    const said = ask({ kind: "clairvoyant", percent: 5 }, runs, { policies: ["ours", "other"] });
    expect(said.verdict).toBe("ours met; other not met");
    expect(said.rows).toHaveLength(2);
  });

  it("fades: where the interval first contains 1, from the largest value down", () => {
    const runs = [1, 0.5, 0.25].flatMap((scale, i) => [
      ...row("ours", "D", [8, 9.99, 10][i]!, { setting: `prefix KV x${scale}, 120 tasks` }),
      ...row("a", "B", 10, { setting: `prefix KV x${scale}, 120 tasks` }),
    ]);
    const said = ask({ kind: "fades", over: "prefix KV x" }, runs, { baselines: ["a"] });
    expect(said.verdict).toMatch(/never contains 1|first contains 1 at prefix KV x(0\.5|0\.25)/);
    expect(said.rows!.map(({ x }) => x)).toEqual([1, 0.5, 0.25]);
  });

  it("shows: preemptions a task and waits along a number in the name", () => {
    const runs = [...row("topas rho 1", "D", 10), ...row("topas rho 3", "D", 11)];
    const policies = ["topas rho 1", "topas rho 3"];
    const said = ask({ kind: "shows", over: "rho " }, runs, { policies, baselines: [], metrics: [] });
    expect(said.rows!.map(({ x, preemptionsPerTask }) => [x, preemptionsPerTask])).toEqual([
      [1, 2],
      [3, 2],
    ]);
  });

  it("losses: shares over all tables", () => {
    const said = ask({ kind: "losses" }, [...row("ours", "D", 12), ...row("a", "B", 10)], {
      tables: [],
      baselines: [],
      metrics: [],
    });
    expect(said.verdict).toBe("ours loses 2 of 2");
  });

  it("a run that another table planned first counts for both", () => {
    const runs = three.map((run) => ({ ...run, table: "first", also: ["t"] }));
    expect(ask({ kind: "best", limit: 0.01 }, runs).verdict).toBe("ours holds");
  });
});

describe("figures of answers", () => {
  const said = ask({ kind: "compare" }, [...three, ...three.map((run) => ({ ...run, load: 0.95 }))]);

  it("draw every setting once, against the hardest baseline, with the rows behind it", () => {
    const [figure] = answerFigures(said);
    expect(figure!.id).toBe("answer-q-1-1");
    expect(figure!.data.map(({ baseline }) => baseline)).toEqual(["b", "b"]);
    expect(figure!.svg.match(/<circle /g)).toHaveLength(2 + 1);
    expect(figure!.svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("draw nothing for rows without the figure", () => {
    expect(answerFigures({ ...said, rows: [{ where: "x", verdict: "y" }] })).toEqual([]);
  });
});
