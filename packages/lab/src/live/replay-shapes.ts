import { mkdirSync } from "node:fs";
import { measure, runLogOf, simulate, type Profile, type SimResult } from "@topas/sim";
import type { Arm } from "../conditions.ts";
import { judge } from "../gate.ts";
import { gitState, hostFacts, packageVersion, RUN_RULES } from "../manifest.ts";
import { liveArms, type LiveExperiment } from "../presets/live.ts";
import { answer } from "../questions.ts";
import { writeReports } from "../report/write.ts";
import { compareAll } from "../results/compare.ts";
import { NO_METRICS, type Metrics } from "../results/metrics.ts";
import type { Results } from "../results/schema.ts";
import { pick } from "../run/run-cell.ts";
import { trendOf, isUnstable } from "../run/stability.ts";
import { waitingOf } from "../run/waiting.ts";
import { LIVE_STARVE_SECONDS, LIVE_STEP_SECONDS } from "./live-metrics.ts";
import { rowOf, type TabledRun } from "./live-results.ts";
import { twinConfig } from "./predict.ts";
import { readShapes, readShapesProfiles, type Shape } from "./shapes.ts";
import type { JobClass } from "./types.ts";

export interface ReplayShapesOptions {
  readonly experiment: LiveExperiment;
  /** Folder of shapes and profiles. */
  readonly shapes: string;
  readonly out: string;
  readonly command: string;
  readonly write?: (text: string) => void;
}

/** The shapes that a live run recorded, simulated under every policy: the same on any machine. @throws RangeError when there is none. */
export function replayShapes({ experiment, shapes: folder, out, command, write = () => {} }: ReplayShapesOptions): Results {
  const shapes = readShapes(folder);
  if (shapes.length === 0)
    throw new RangeError(
      `${folder} has no recorded shapes: run npx topas experiment --preset ${experiment.name} --engine llama first`,
    );
  const startedAt = new Date();
  const arms = liveArms();
  const runs = shapes.flatMap((shape) => {
    const [profile] = readShapesProfiles(folder, shape.seed);
    if (profile === undefined) throw new RangeError(`${folder} has no profile-N.json: shapes and profiles belong together`);
    write(`${shape.workload} ${shape.arrival} load ${shape.load} seed ${shape.seed}\n`);
    const row = experiment.rows.find(
      ({ workload, arrival, load }) => workload === shape.workload && arrival === shape.arrival && load === shape.load,
    );
    return (row?.arms ?? experiment.arms).flatMap((name) => simulated(shape, arms.get(name)!, profile));
  });
  const results: Results = {
    schema: "topas.results/1",
    evidence: "simulated",
    manifest: {
      version: packageVersion(),
      git: gitState(),
      host: hostFacts(),
      profile: readShapesProfiles(folder, shapes[0]!.seed)[0]!.name,
      profileStatus: "calibrated on the machine of the live run",
      seeds: [...new Set(shapes.map(({ seed }) => seed))],
      command,
      preset: experiment.name,
      title: `${experiment.title}: the recorded shapes in the simulator`,
      startedAt: startedAt.toISOString(),
      minutes: (Date.now() - startedAt.getTime()) / 60_000,
      workers: 0,
      rules: { ...RUN_RULES, load: "as in the live run that recorded the shapes", warmup: "none is left out" },
    },
    runs: runs.map(({ table, ...run }) => ({ ...run, options: { ...run.options, table } })),
    comparisons: compareAll(runs),
    falsification: experiment.questions.map((question) => answer(question, runs)),
    overhead: { decisionP50Us: 0, decisionP95Us: 0, wallShare: 0, note: "not measured in a replay: see the live run" },
  };
  const judged: Results = { ...results, gate: judge(results) };
  mkdirSync(out, { recursive: true });
  writeReports(out, judged);
  return judged;
}

function simulated(shape: Shape, arm: Arm, profile: Profile): TabledRun[] {
  const cell = {
    row: { table: shape.table, workload: shape.workload, arrival: shape.arrival, load: shape.load, jobs: shape.tasks.length },
    workload: shape.workload,
    arm,
    seed: shape.seed,
    kvTokens: shape.budgetTokens,
    hostTierMib: shape.hostTierMib,
    model: `recorded under ${shape.recordedUnder}`,
    ratePerSecond: shape.ratePerSecond,
  };
  const classes = [...new Set(shape.tasks.map((task) => task.class))];
  try {
    const result = simulate({ ...twinConfig(shape, arm, profile), record: { log: "full", gaps: true } });
    const spans = result.tasks.map(({ arrivalSeconds, doneSeconds }) => ({ arrivalSeconds, finishSeconds: doneSeconds }));
    const unstable = isUnstable([trendOf(spans)]);
    return classes.map((of) => rowOf(cell, of, { metrics: metricsOf(shape, result, of), inputs: "", unstable, error: null }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [rowOf(cell, "workflow", { metrics: NO_METRICS, inputs: "", unstable: false, error: message })];
  }
}

function metricsOf({ agents, tasks }: Shape, result: SimResult, of: JobClass): Metrics {
  const ids = new Set(tasks.filter((task) => task.class === of).map(({ id }) => id));
  const log = runLogOf(result, { agents });
  const mine = {
    ...log,
    tasks: log.tasks.filter(({ id }) => ids.has(id)),
    requests: log.requests.filter(({ task }) => ids.has(task)),
  };
  const waited = waitingOf(result.calls, agents, result.budgetTokens, LIVE_STEP_SECONDS);
  return {
    ...pick(measure(mine, { starveAfterSeconds: LIVE_STARVE_SECONDS })),
    ...waited,
    gpuHours: null,
    decisions: result.decisions,
  };
}
