import type { Arm } from "../conditions.ts";
import { AS_PRESET, CAPACITY_ARMS, DEFAULT_PROFILE } from "../grid/grid.ts";
import type { Cell } from "../grid/cell.ts";
import type { Step } from "../presets/preset.ts";
import type { Falsification } from "../results/schema.ts";
import { findPreset } from "@topas/sim";
import { calibrated, calibrationCell, calibrationJobs } from "./calibration.ts";
import { runCells, runJobs } from "./pool.ts";
import { searched, searchJobs } from "./search.ts";

export interface StepOptions {
  readonly workers: number;
  readonly seeds: readonly number[];
  readonly arms: ReadonlyMap<string, Arm>;
  readonly capacityTasks: number;
  readonly write: (text: string) => void;
}

/** Runs the studies that are no grid; each gives one answer. */
export async function runSteps(steps: readonly Step[], options: StepOptions): Promise<Falsification[]> {
  const { workers, write } = options;
  const answers: Falsification[] = [];
  for (const step of steps) {
    let done = 0;
    const say = (all: number): void =>
      write(`\r${step.test}: ${++done} of ${all} pieces`.padEnd(110) + (done === all ? "\n" : ""));
    if (step.kind === "search") {
      const jobs = searchJobs(step);
      answers.push(searched(step, (await runJobs(jobs, { workers, onResult: () => say(jobs.length) })).flat()));
    } else {
      const jobs = await calibrationOf(step, options);
      answers.push(calibrated(step, (await runJobs(jobs, { workers, onResult: () => say(jobs.length) })).flat()));
    }
  }
  return answers;
}

/** Load is a share of the capacity without differences in difficulty, so that sigma alone changes. */
async function calibrationOf(step: Extract<Step, { kind: "calibration" }>, { workers, seeds, arms, capacityTasks }: StepOptions) {
  const base = (workload: string, sigma: number, arm: string, seed: number) => {
    const variant: Cell["variant"] = { ...AS_PRESET, label: `difficulty sigma ${sigma}`, difficultySigma: sigma };
    return { workload, variant, budgetTokens: findPreset(workload).budgetTokens, arm: arms.get(arm)!, seed };
  };
  const saturated = step.workloads.flatMap((workload) =>
    CAPACITY_ARMS.map((arm): Cell => ({
      ...base(workload, 0, arm, 1),
      arrival: "together",
      load: null,
      ratePerSecond: null,
      profile: DEFAULT_PROFILE,
      hostTier: "pcie",
      reserve: "own",
      tasks: capacityTasks,
      warmupTasks: 0,
    })),
  );
  const found = await runCells(saturated, { workers });
  const rates = new Map(
    step.workloads.map((workload, i) => {
      const mine = found.slice(i * CAPACITY_ARMS.length, (i + 1) * CAPACITY_ARMS.length);
      return [workload, step.load * Math.max(...mine.map(({ tasksPerSecond }) => tasksPerSecond))];
    }),
  );
  return calibrationJobs(step, seeds, (workload, sigma, seed) =>
    calibrationCell(step, { ...base(workload, sigma, "topas", seed), ratePerSecond: rates.get(workload)! }),
  );
}
