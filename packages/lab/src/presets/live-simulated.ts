import { findPreset, makeWorkload, type SimTask } from "@topas/sim";
import { allArms } from "../grid/references.ts";
import type { Grid } from "../grid/grid.ts";
import { plainWorkload } from "../live/plain-workload.ts";
import { notLive, type LiveExperiment, type LiveRow, type WorkloadFactory } from "./live.ts";
import type { Experiment } from "./preset.ts";

/** Every length of a simulated preset over its length here; and the same for waits, since a small model is also faster. */
export const TOKEN_SCALE = 8;
const WAIT_SCALE = 20;

const JOBS = 30;
/** The cache comes in these. */
const KV_BLOCK = 256;

/** Presets of the simulator whose grids a live engine can follow: no variants, no host tiers, no profiles. */
export const LIVE_PRESETS = ["quick", "matched"];

/**
 * A preset of the simulator on a live engine: the same task lists, played by the plain player with all tokens scaled by one factor, fewer
 * of them, and the rows a gateway can run. @throws RangeError that says what to do instead.
 */
export function liveFromSimulated(experiment: Experiment): LiveExperiment {
  if (!LIVE_PRESETS.includes(experiment.name))
    throw new RangeError(
      `preset ${experiment.name} varies what a live engine cannot: run it with --engine sim, or one of ${LIVE_PRESETS.join(", ")} with --engine llama`,
    );
  const left = new Map<string, string>();
  const rows = experiment.grids.flatMap((grid) => rowsOf(grid, left));
  const names = [...new Set(rows.map(({ workload }) => workload))];
  const ran = new Set(rows.flatMap(({ arms }) => arms ?? []));
  return {
    name: experiment.name,
    title: `${experiment.title}, on a live engine`,
    minutes: Math.ceil((rows.reduce((sum, { arms }) => sum + arms!.length, 0) * 3 * 6) / 60),
    seeds: 3,
    model: "tiny5m",
    kvTokens: 2_560,
    hostTierMib: 512,
    workloads: Object.fromEntries(names.map((name) => [name, factoryOf(name)])),
    rows,
    arms: ["passthrough", ...ran],
    capacityJobs: JOBS,
    limitSeconds: 180,
    questions: experiment.questions.map((question) => ({
      ...question,
      policies: question.policies.filter((name) => ran.has(name)),
      baselines: question.baselines.filter((name) => ran.has(name)),
    })),
    notes: [
      `task lists of the simulator's presets; prompts, outputs, limits and budgets over ${TOKEN_SCALE}, tool waits over ${WAIT_SCALE}; ${JOBS} tasks, none of them left out as warm-up`,
      ...[...left].map(([name, why]) => `row ${name} is left out: ${why}`),
    ],
    quick: { seeds: 1, rows: rows.slice(0, 2), arms: ["passthrough", "task-fcfs-o", "kv-index-safe"] },
  };
}

function rowsOf(grid: Grid, left: Map<string, string>): LiveRow[] {
  const known = allArms();
  const arms = grid.arms.flatMap((named) => {
    const name = typeof named === "string" ? named : named.name;
    const arm = typeof named === "string" ? known.get(named) : undefined;
    const why = arm === undefined ? "its reserve differs from that of the row it is made from" : notLive(arm);
    if (why !== null) left.set(name, why);
    return why === null ? [name] : [];
  });
  return grid.workloads.flatMap((workload) =>
    grid.loads.flatMap((load): LiveRow[] => {
      if (typeof load !== "number") return [];
      const kvTokens = Math.ceil(findPreset(workload).budgetTokens / TOKEN_SCALE / KV_BLOCK) * KV_BLOCK;
      return [{ table: grid.table, workload, arrival: "poisson", load, jobs: JOBS, arms: ["passthrough", ...arms], kvTokens }];
    }),
  );
}

function factoryOf(name: string): WorkloadFactory {
  return ({ seed, jobs, arrival, ratePerSecond }) => {
    const preset = findPreset(name);
    const made = makeWorkload(name, {
      seed,
      tasks: jobs,
      arrival: ratePerSecond === null ? "together" : arrival === "burst" ? "batch-8" : "poisson",
      ...(ratePerSecond === null ? {} : { ratePerSecond }),
      options: {
        tokenScale: (preset.tokenScale ?? 1) / TOKEN_SCALE,
        budgetTokens: Math.ceil(preset.budgetTokens / TOKEN_SCALE),
        ...(typeof preset.maxTokens === "number" ? { maxTokens: Math.ceil(preset.maxTokens / TOKEN_SCALE) } : {}),
      },
    });
    const tasks = made.tasks.map(withWaits);
    return Promise.resolve(
      plainWorkload(name, { agents: made.agents, tasks }, [
        `${name}: ${preset.source}; tokens over ${TOKEN_SCALE}, lengths enforced`,
      ]),
    );
  };
}

function withWaits(task: SimTask): SimTask {
  const stages = task.stages.map((stage) => ({
    ...stage,
    rounds: stage.rounds.map((round) => ({ ...round, toolWaitSeconds: round.toolWaitSeconds / WAIT_SCALE })),
  }));
  return { ...task, stages };
}
