import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { judge } from "./gate.ts";
import { atCapacity, DEFAULT_PROFILE, planGrids } from "./grid/grid.ts";
import { allArms } from "./grid/references.ts";
import { codeId, gitState, hostFacts, packageVersion, RUN_RULES } from "./manifest.ts";
import { findExperiment } from "./presets/catalog.ts";
import { targetsOf } from "./presets/targets.ts";
import { readProfile } from "./profile.ts";
import { answer } from "./questions.ts";
import { writeReports } from "./report/write.ts";
import { compareAll } from "./results/compare.ts";
import type { Overhead, Results, Run } from "./results/schema.ts";
import { runMatched } from "./run/matched.ts";
import { overheadOf, type Cost } from "./run/overhead.ts";
import { openCellStore } from "./run/resume.ts";
import { runSteps } from "./run/steps.ts";
import type { Experiment } from "./presets/preset.ts";

export interface ExperimentOptions {
  /** A name, or the data of one. */
  readonly preset: string | Experiment;
  /** Folder for results.json, report.html, REPORT.md, manifest.json and cells.jsonl; null: nothing is written. */
  readonly out: string | null;
  readonly seeds?: number;
  /** 0: in this thread. */
  readonly workers?: number;
  /** Names the code that runs; default: from git. Finished cells of other code are made again. */
  readonly code?: string;
  /** Goes to the manifest. */
  readonly command?: string;
  /** Progress; default none. */
  readonly write?: (text: string) => void;
}

/** Runs a preset from beginning to end on the simulator, or what is left of it. */
export async function runExperiment(options: ExperimentOptions): Promise<Results> {
  const { out, workers = 2, write = () => {} } = options;
  const experiment = typeof options.preset === "string" ? findExperiment(options.preset) : options.preset;
  const startedAt = new Date();
  const arms = allArms();
  const seeds = Array.from({ length: options.seeds ?? experiment.seeds }, (_, i) => i + 1);
  const plan = planGrids(experiment.grids, arms, seeds, experiment.capacityTasks);
  const version = packageVersion();
  const git = gitState();
  if (out !== null) mkdirSync(out, { recursive: true });
  const store = out === null ? undefined : openCellStore(join(out, "cells.jsonl"), options.code ?? codeId());
  if (store !== undefined && store.size > 0) write(`${store.size} cells of an earlier run of the same code are kept\n`);
  const { runs, capacities } = await runMatched(plan, { workers, write, ...(store === undefined ? {} : { store }) });
  const { steps = [], capacityTasks } = experiment;
  const studied = await runSteps(steps, { workers, seeds, arms, capacityTasks, write });
  const comparisons = compareAll(runs);
  const overhead = timed(experiment, plan, capacities[0]?.tasksPerSecond ?? 1);
  const profile = readProfile(DEFAULT_PROFILE);
  const results: Results = {
    schema: "topas.results/1",
    evidence: "simulated",
    manifest: {
      version,
      git,
      host: hostFacts(),
      profile: profile.name,
      profileStatus: profile.status,
      seeds,
      command: options.command ?? `topas experiment --preset ${experiment.name}`,
      preset: experiment.name,
      title: experiment.title,
      startedAt: startedAt.toISOString(),
      minutes: (Date.now() - startedAt.getTime()) / 60_000,
      workers,
      rules: RUN_RULES,
    },
    runs: runs.map(tabled),
    comparisons,
    falsification: [...experiment.questions.map((question) => answer(question, runs)), ...studied],
    overhead,
    capacities: [...capacities],
    targets: targetsOf(runs),
  };
  const judged: Results = { ...results, gate: judge(results) };
  if (out !== null) writeReports(out, judged);
  return judged;
}

/** The table goes among the options, where the file has it. */
function tabled(run: Run & { readonly table: string; readonly also: readonly string[] }): Run {
  const { table, also, ...plain } = run;
  return { ...plain, options: { ...plain.options, table: [table, ...also].join(" and ") } };
}

function timed(experiment: Experiment, plan: ReturnType<typeof planGrids>, capacityPerSecond: number): Overhead {
  const policies: Record<string, Cost> = {};
  for (const name of experiment.timed) {
    const planned = plan.cells.find(({ cell, capacity }) => cell.arm.name === name && capacity === 0);
    if (planned !== undefined) policies[name] = overheadOf(shortened(atCapacity(planned, capacityPerSecond)));
  }
  const worst = Object.values(policies).toSorted((a, b) => b.wallShare - a.wallShare)[0];
  const note = "wall clock of this host, decisions on the states of one simulated run; the top row is the dearest policy timed";
  return { ...(worst ?? { decisionP50Us: 0, decisionP95Us: 0, wallShare: 0 }), policies, note };
}

function shortened<T extends { readonly tasks: number; readonly warmupTasks: number }>(cell: T): T {
  return { ...cell, tasks: Math.min(cell.tasks, 50), warmupTasks: 10 };
}
