import type { LiveExperiment } from "@topas/lab";
import { describe, expect, it } from "vitest";
import { chosen } from "./run.ts";

const row = (workload: string, kvTokens?: number) => ({
  table: "t",
  workload,
  arrival: "poisson" as const,
  load: 0.8,
  jobs: 4,
  ...(kvTokens === undefined ? {} : { kvTokens }),
});

const EXPERIMENT = {
  rows: [row("a"), { ...row("b", 2_048), arms: ["fcfs"] }],
  arms: ["passthrough", "fcfs", "kv-index-safe"],
  seeds: 5,
  kvTokens: 1_024,
  hostTierMib: 0,
  quick: { rows: [row("a")], arms: ["passthrough", "kv-index-safe"], seeds: 1 },
} as unknown as LiveExperiment;

const flags = { preset: "x", threads: 1 };

describe("what the options make of an experiment", () => {
  it("nothing, when there are none", () => expect(chosen(EXPERIMENT, flags)).toEqual(EXPERIMENT));

  it("--policies and --kv hold for every row, --workloads chooses rows", () => {
    const made = chosen(EXPERIMENT, { ...flags, policies: "fcfs,lpm-task-o", kv: 512, workloads: "b", hostTier: 64 });
    expect(made.rows).toEqual([{ ...row("b", 512), arms: ["fcfs", "lpm-task-o"] }]);
    expect(made).toMatchObject({ arms: ["fcfs", "lpm-task-o"], kvTokens: 512, hostTierMib: 64 });
  });

  it("--quick takes the quick form", () => {
    expect(chosen(EXPERIMENT, { ...flags, quick: true })).toMatchObject({
      seeds: 1,
      rows: [{ workload: "a", arms: ["passthrough", "kv-index-safe"] }],
    });
  });

  it("a workload that is not there is named, with those that are", () =>
    expect(() => chosen(EXPERIMENT, { ...flags, workloads: "c" })).toThrow("--workloads: c is not one of a, b"));
});
