import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "@topas/engines";
import type { Profile } from "@topas/sim";
import { judge } from "../gate.ts";
import { codeId, gitState, hostFacts, packageVersion } from "../manifest.ts";
import { liveArms, type LiveExperiment } from "../presets/live.ts";
import { answer } from "../questions.ts";
import { writeReports } from "../report/write.ts";
import { compareAll } from "../results/compare.ts";
import type { Results } from "../results/schema.ts";
import { openCellStore } from "../run/resume.ts";
import { planLive } from "./live-cell.ts";
import { liveManifest } from "./live-manifest.ts";
import { overheadOfLive, rowsOfLive } from "./live-results.ts";
import { predictions } from "./predict.ts";
import type { LiveCellResult } from "./run-live-cell.ts";
import { runLive, type EngineChoice } from "./run-live.ts";
import { readShapes, readShapesProfiles, shapeOf, writeShape, writeShapesProfile } from "./shapes.ts";

export interface LiveExperimentOptions {
  readonly experiment: LiveExperiment;
  readonly seeds: number;
  /** What answers, e.g. `s60m (made, random weights)`. */
  readonly model: string;
  readonly threads: number;
  /** See LiveCellOptions; default false. */
  readonly modelDecides?: boolean;
  /** A fresh engine, not started. */
  readonly openEngine: (choice: EngineChoice) => Promise<Engine>;
  /** The engine's cost model on this machine, now; null: no prediction is made, and why. */
  readonly calibrate: (() => Promise<Profile>) | { readonly none: string };
  /** Folder for results, cells.jsonl and shapes. */
  readonly out: string;
  readonly signal: AbortSignal;
  /** Goes to the manifest. */
  readonly command: string;
  /** Names the code that runs; default: from git. */
  readonly code?: string;
  readonly write?: (text: string) => void;
}

const CODE = ["packages/core", "packages/sim", "packages/lab", "packages/engines", "packages/gateway", "packages/receipt"];

/** Runs an experiment on a live engine, or what is left of it. @throws Interrupted when its signal fires; what is done is kept. */
export async function runLiveExperiment(options: LiveExperimentOptions): Promise<Results> {
  const { experiment, out, signal, write = () => {} } = options;
  const startedAt = new Date();
  const seeds = Array.from({ length: options.seeds }, (_, i) => i + 1);
  const plan = planLive(experiment, liveArms(), seeds, options.model);
  mkdirSync(out, { recursive: true });
  const store = openCellStore<LiveCellResult>(join(out, "cells.jsonl"), options.code ?? codeId(CODE));
  if (store.size > 0) write(`${store.size} cells of an earlier run of the same code are kept\n`);
  const shapes = join(out, "shapes");
  const calibrate = typeof options.calibrate === "function" ? options.calibrate : null;
  const live = await runLive(plan, {
    workloads: experiment.workloads,
    openEngine: options.openEngine,
    modelDecides: options.modelDecides ?? false,
    limitSeconds: experiment.limitSeconds,
    signal,
    store,
    write,
    between: async (seed) => {
      if (calibrate === null || signal.aborted) return;
      if (seed === 0) write("calibrating the simulator on this machine\n");
      writeShapesProfile(shapes, seed, await calibrate());
    },
    onRecorded: (cell, recorded, { orchestrator }) => {
      const { arms = experiment.arms } = cell.row;
      if (cell.ratePerSecond !== null && cell.arm.name === arms[0]) writeShape(shapes, shapeOf(cell, recorded, orchestrator));
    },
  });
  const runs = rowsOfLive(live.outcomes);
  const results: Results = {
    schema: "topas.results/1",
    evidence: "real-cpu",
    manifest: {
      version: packageVersion(),
      git: gitState(),
      host: hostFacts(),
      seeds,
      command: options.command,
      startedAt: startedAt.toISOString(),
      minutes: (Date.now() - startedAt.getTime()) / 60_000,
      workers: 1,
      ...liveManifest(options, live),
    },
    runs: runs.map(({ table, ...run }) => ({ ...run, options: { ...run.options, table } })),
    comparisons: compareAll(runs),
    falsification: experiment.questions.map((question) => answer(question, runs)),
    overhead: overheadOfLive(live.outcomes),
    capacities: live.capacities.map(({ cell, tasksPerSecond }) => ({
      setting: `${cell.workload}, B ${cell.kvTokens}`,
      tasksPerSecond,
      by: cell.arm.name,
    })),
    ...(calibrate === null
      ? {}
      : { predictions: predictions(live.outcomes, readShapes(shapes), (seed) => readShapesProfiles(shapes, seed)) }),
  };
  const judged: Results = { ...results, gate: judge(results) };
  writeReports(out, judged);
  return judged;
}
