/** The whole way on a real KV cache: nano model, one tiny workload, two policies, shapes, the simulator's twin and the report. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LlamaEngine } from "@topas/engines/llama";
import { makeWorkload } from "@topas/sim";
import { afterAll, expect, it } from "vitest";
import { modelPath } from "../../../engines/src/llama/testing/kit.ts";
import type { LiveExperiment } from "../presets/live.ts";
import { readProfile } from "../profile.ts";
import { runLiveExperiment } from "./live-experiment.ts";
import { plainWorkload } from "./plain-workload.ts";

const out = mkdtempSync(join(tmpdir(), "topas-live-real-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

const EXPERIMENT: LiveExperiment = {
  name: "tiny",
  title: "Tiny, on a real engine",
  minutes: 0,
  seeds: 1,
  model: "nano1m",
  kvTokens: 512,
  hostTierMib: 16,
  workloads: {
    dag4: ({ seed, jobs, ratePerSecond }) => {
      const made = makeWorkload("paper-dag4", {
        seed,
        tasks: jobs,
        arrival: ratePerSecond === null ? "together" : "poisson",
        ...(ratePerSecond === null ? {} : { ratePerSecond }),
        options: { tokenScale: 1 / 40, budgetTokens: 500, maxTokens: "exact" },
      });
      return Promise.resolve(plainWorkload("dag4", made, ["a shape of the simulator over 40"]));
    },
  },
  rows: [{ table: "t", workload: "dag4", arrival: "poisson", load: 0.8, jobs: 5 }],
  arms: ["passthrough", "kv-index-safe"],
  capacityJobs: 5,
  limitSeconds: 30,
  questions: [],
  notes: [],
  quick: {},
};

it("plays, counts, compares, records and predicts", async () => {
  const path = await modelPath("nano1m");
  const results = await runLiveExperiment({
    experiment: EXPERIMENT,
    seeds: 1,
    model: "nano1m (made, random weights)",
    threads: 1,
    openEngine: ({ kvTokens, hostTierMib }) =>
      Promise.resolve(new LlamaEngine({ modelPath: path, kvTokens, hostTierBytes: hostTierMib << 20 })),
    calibrate: () => Promise.resolve(readProfile("qwen2.5-32b-a100")),
    out,
    signal: new AbortController().signal,
    command: "test",
    code: "this",
  });
  expect(results.runs.map(({ policy, error, metrics }) => [policy, error, metrics.successRate])).toEqual([
    ["passthrough", null, 1],
    ["kv-index-safe", null, 1],
  ]);
  for (const { metrics } of results.runs) {
    expect(metrics.jctMeanS).toBeGreaterThan(0);
    expect(metrics.kvOccupancy).toBeGreaterThan(0);
    expect(metrics.prefixHitRate).toBeGreaterThan(0);
    expect(metrics.batchMean).toBeGreaterThan(0);
  }
  const live = results.manifest as unknown as { workloads: { prefixTokens: number; budgetOverPrefixes: number }[] };
  expect(live.workloads[0]!.prefixTokens).toBeGreaterThan(400);
  expect(live.workloads[0]!.budgetOverPrefixes).toBeCloseTo(512 / live.workloads[0]!.prefixTokens, 9);
  expect(results.predictions!.map(({ policy, measuredS, predictedS }) => [policy, measuredS > 0, predictedS > 0])).toEqual([
    ["passthrough", true, true],
    ["kv-index-safe", true, true],
  ]);
  expect(results.gate!.decision).not.toBe("promote");
  expect(readFileSync(join(out, "REPORT.md"), "utf8")).toContain("Predicted and measured");
}, 60_000);
