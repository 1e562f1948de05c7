import { describe, expect, it } from "vitest";
import { EXIT_CODES, judge } from "./gate.ts";
import { NO_METRICS } from "./results/metrics.ts";
import type { Gate, Results, Run } from "./results/schema.ts";
import { sampleResults } from "./testing/results.ts";

interface Figures {
  readonly mean: number;
  readonly p99: number;
  readonly success?: number;
  readonly starved?: number;
}

function run(policy: string, condition: string, workload: string, seed: number, figures: Figures, load = 0.8): Run {
  return {
    workload,
    arrival: "poisson",
    load,
    budgetTokens: 20_000,
    hostTier: "none",
    policy,
    options: { setting: "s", ratePerSecond: 0.1, rules: "joint", fit: "stop", reserve: "mean", maxTokens: "preset" },
    condition,
    seed,
    metrics: {
      ...NO_METRICS,
      jctMeanS: figures.mean,
      jctP99S: figures.p99,
      successRate: figures.success ?? 1,
      starved: figures.starved ?? 0,
    },
    inputs: "same",
    unstable: false,
    error: null,
  };
}

const BASE: Figures = { mean: 10, p99: 100 };

/** Three equal seeds of both rows. */
function pair(workload: string, candidate: Figures, load?: number): Run[] {
  return [1, 2, 3].flatMap((seed) => [
    run("lpm", "A", workload, seed, BASE, load),
    run("topas-guarded", "D", workload, seed, candidate, load),
  ]);
}

function gate(candidate: Figures, changes: Partial<Results> = {}, workload = "ruflo-record"): Gate {
  const runs = [...pair(workload, candidate), ...pair(workload, BASE, 0.3)];
  return judge({
    ...sampleResults(),
    evidence: "real-cpu",
    runs,
    overhead: { decisionP50Us: 20, decisionP95Us: 90, wallShare: 0.001 },
    ...changes,
  });
}

describe("promotion gate, arithmetic of K10", () => {
  it.each([
    [7, 104.9, "promote", []],
    [7, 105, "promote", []],
    [7, 105.1, "hold", ["tail_regression"]],
    [8.6, 100, "hold", ["gain_below_15_percent"]],
    [8.5, 100, "promote", []],
  ] as const)("mean 10.0 and p99 100.0 to %s and %s: %s", (mean, p99, decision, reasons) => {
    const said = gate({ mean, p99 });
    expect([said.decision, said.reasons]).toEqual([decision, reasons]);
  });

  it("a mean a third lower with a p99 two thirds higher is refused (sgl-project/sglang#32911)", () => {
    const runs = [
      run("fcfs", "A", "cold-and-warm", 1, { mean: 24.3, p99: 39.1 }),
      run("lpm", "B", "cold-and-warm", 1, { mean: 16.4, p99: 65.5 }),
    ];
    const said = judge({ ...sampleResults(), runs }, { policy: "lpm", baseline: "fcfs" });
    expect([said.decision, said.reasons]).toEqual(["hold", ["tail_regression"]]);
  });

  it("takes a p99 that is 15 % lower too", () => expect(gate({ mean: 9.9, p99: 85 }).decision).toBe("promote"));
});

describe("other clauses", () => {
  it("a gain on simulated or on other workloads is experimental", () => {
    expect(gate({ mean: 7, p99: 80 }, { evidence: "simulated" }).decision).toBe("experimental");
    expect(gate({ mean: 7, p99: 80 }, {}, "dag-4").decision).toBe("experimental");
  });
  it("unmatched success holds", () => expect(gate({ mean: 7, p99: 80, success: 0.97 }).reasons).toEqual(["success_not_matched"]));
  it("starvation holds", () => expect(gate({ mean: 7, p99: 80, starved: 1 }).reasons).toEqual(["starvation"]));
  it("1 % of wall time holds, just below it passes", () => {
    const at = (wallShare: number): Gate =>
      gate({ mean: 7, p99: 80 }, { overhead: { decisionP50Us: 1, decisionP95Us: 2, wallShare } });
    expect(at(0.01).reasons).toEqual(["overhead"]);
    expect(at(0.00999).decision).toBe("promote");
  });
  it("K10: a protected workload with a worse tail holds whatever is gained elsewhere", () => {
    for (const name of ["chat", "chat beside ruflo-record", "background beside ruflo-record"]) {
      const runs = [...pair("ruflo-record", { mean: 7, p99: 80 }), ...pair(name, { mean: 10, p99: 106 })];
      const said = gate({ mean: 7, p99: 80 }, { runs });
      expect(said.reasons).toEqual(["tail_regression"]);
      expect(said.clauses.find(({ pass }) => pass === false)!.detail).toContain(name);
    }
  });
  it("harm to a real workflow at low load holds; no row at low load holds too", () => {
    const gain = pair("ruflo-record", { mean: 7, p99: 80 });
    const low = (mean: number): Run[] => [...gain, ...pair("ruflo-record", { mean, p99: 100 }, 0.3)];
    expect(gate(BASE, { runs: low(10.3) }).reasons).toEqual(["harm_at_low_load"]);
    expect(gate(BASE, { runs: low(10.2) }).decision).toBe("promote");
    expect(gate(BASE, { runs: gain }).reasons).toEqual(["not_measured"]);
  });
  it("a real gain whose interval reaches 10 % does not promote, nor does one seed", () => {
    const wide = [0.75, 0.8, 0.99].flatMap((ratio, i) => [
      run("lpm", "A", "ruflo-record", i, BASE),
      run("topas-guarded", "D", "ruflo-record", i, { mean: 10 * ratio, p99: 100 }),
    ]);
    const low = pair("ruflo-record", BASE, 0.3);
    expect(gate(BASE, { runs: [...wide, ...low] }).decision).not.toBe("promote");
    const one = pair("ruflo-record", { mean: 7, p99: 80 }).filter(({ seed }) => seed === 1);
    expect(gate(BASE, { runs: [...one, ...low] }).reasons).toEqual(["gain_below_15_percent"]);
  });
  it("a gain whose interval holds 1 does not count", () => {
    const seeds = [1, 2, 3, 4, 5].flatMap((seed) => [
      run("lpm", "A", "ruflo-record", seed, BASE),
      run("topas-guarded", "D", "ruflo-record", seed, { mean: seed < 5 ? 12 : 0.5 * seed, p99: 100 }),
    ]);
    expect(gate(BASE, { runs: seeds }).decision).toBe("hold");
  });
  it("nothing measured holds", () => expect(gate(BASE, { runs: [] }).reasons).toEqual(["not_measured"]));
  it("only promote exits with 0", () => expect(EXIT_CODES).toEqual({ promote: 0, hold: 2, experimental: 3 }));
});
