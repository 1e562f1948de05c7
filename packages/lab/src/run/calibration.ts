import {
  createEstimator,
  createPolicy,
  decide,
  isDeciding,
  taskPath,
  type Decision,
  type Estimator,
  type State,
  type TaskState,
} from "@topas/core";
import { referenceSpeeds, simulate } from "@topas/sim";
import type { Cell } from "../grid/cell.ts";
import { DEFAULT_PROFILE } from "../grid/grid.ts";
import { readProfile } from "../profile.ts";
import type { Step } from "../presets/preset.ts";
import type { Falsification } from "../results/schema.ts";
import { mean } from "../stats/describe.ts";
import { foresee } from "./truth.ts";
import { workloadOf } from "./workload.ts";

type CalibrationStep = Extract<Step, { kind: "calibration" }>;

const RESIDUALS = { independent: "mean", correlated: "correlated" } as const;
type Residuals = keyof typeof RESIDUALS;
/** Contended decisions that both twins decide; the rest of the run is not asked. */
const MOST_DECISIONS = 1_500;

export interface CalibrationJob {
  readonly kind: "calibration";
  readonly cell: Cell;
}

/** Sums over the estimates of one run. */
export interface Calibrated {
  readonly workload: string;
  readonly sigma: number;
  readonly at: "arrival" | "ready";
  readonly residuals: Residuals;
  readonly estimates: number;
  readonly predictedSeconds: number;
  readonly actualSeconds: number;
  readonly absoluteErrorSeconds: number;
  readonly covered: number;
  readonly decisions: number;
  readonly changed: number;
}

export function calibrationJobs(
  step: CalibrationStep,
  seeds: readonly number[],
  cellOf: (workload: string, sigma: number, seed: number) => Cell,
): CalibrationJob[] {
  return step.workloads.flatMap((workload) =>
    step.sigmas.flatMap((sigma) =>
      seeds.slice(0, step.seeds).map((seed): CalibrationJob => ({ kind: "calibration", cell: cellOf(workload, sigma, seed) })),
    ),
  );
}

/**
 * Plays the cell under its policy and asks both estimators at every arrival and every ready call; the truth is the remaining
 * path on true lengths, with the same speeds, so waiting is in neither.
 */
export function calibrate({ cell }: CalibrationJob): Calibrated[] {
  const profile = readProfile(cell.profile);
  const { workload } = workloadOf(cell);
  const foreseen = foresee(workload, referenceSpeeds(profile, cell.hostTier));
  const measured = new Set(workload.tasks.slice(cell.warmupTasks).map(({ id }) => id));
  const twins = [createPolicy("topas")!, createPolicy("topas-corr")!] as const;
  const sums = new Map<string, { -readonly [K in keyof Calibrated]: Calibrated[K] }>();
  let [decisions, changed] = [0, 0];
  const note = (state: State, id: string, at: Calibrated["at"]): void => {
    const task = state.tasks.get(id);
    const actual = foreseen.truth.remainingPathSeconds(id);
    if (task === undefined || actual === null || !measured.has(id)) return;
    for (const residuals of Object.keys(RESIDUALS) as Residuals[]) {
      const estimator = createEstimator(state, { estimate: RESIDUALS[residuals] });
      const predicted = taskPath(task, estimator).seconds();
      const key = `${at} ${residuals}`;
      const row = sums.get(key) ?? emptyRow(cell, at, residuals);
      sums.set(key, row);
      row.estimates += 1;
      row.predictedSeconds += predicted;
      row.actualSeconds += actual;
      row.absoluteErrorSeconds += Math.abs(predicted - actual);
      if (actual <= pathQuantile(estimator, task, 0.9)) row.covered += 1;
    }
  };
  simulate({
    profile,
    budget: cell.budgetTokens,
    rules: "joint",
    rulesOptions: { hostTier: cell.hostTier },
    policy: "topas",
    agents: workload.agents,
    tasks: workload.tasks,
    onEvent: (state, event) => {
      foreseen.onEvent(state, event);
      if (event.kind === "graphRevealed") note(state, event.task, "arrival");
      if (event.kind === "ready") note(state, event.request.task, "ready");
      if (!isDeciding(event) || state.waiting.size === 0 || decisions >= MOST_DECISIONS) return;
      decisions += 1;
      const [plain, correlated] = twins.map((twin) => actionsOf(decide(state, twin, event.at)));
      if (plain !== correlated) changed += 1;
    },
  });
  return [...sums.values()].map((row) => ({ ...row, decisions, changed }));
}

function emptyRow(cell: Cell, at: Calibrated["at"], residuals: Residuals) {
  const zero = {
    estimates: 0,
    predictedSeconds: 0,
    actualSeconds: 0,
    absoluteErrorSeconds: 0,
    covered: 0,
    decisions: 0,
    changed: 0,
  };
  return { workload: cell.workload, sigma: cell.variant.difficultySigma ?? 0, at, residuals, ...zero };
}

/** Weighted quantile of the sampled paths. @throws RangeError for a graph with loops, whose samples are not laid open. */
function pathQuantile(estimator: Estimator, task: TaskState, p: number): number {
  const { joint, parts, idleSeconds } = estimator.jointPath(task);
  if (parts.length === 0) return idleSeconds;
  if (parts.some(({ forward }) => forward !== null)) throw new RangeError("calibration reads graphs without loops");
  const { count, weights, values } = joint;
  const pathOf = (m: number): number =>
    Math.max(...parts.map(({ behind, slots }) => behind[m]! + values[slots[0]! * count + m]!));
  const samples = Array.from({ length: count }, (_, m) => ({ seconds: pathOf(m), weight: weights?.[m] ?? 1 / count }));
  samples.sort((a, b) => a.seconds - b.seconds);
  let sum = 0;
  for (const { seconds, weight } of samples) if ((sum += weight) >= p - 1e-12) return seconds;
  return samples.at(-1)?.seconds ?? 0;
}

function actionsOf({ preempt, evict, load, admit }: Decision): string {
  return JSON.stringify([
    preempt.map(({ request }) => request),
    evict.map(({ entry }) => entry).toSorted(),
    load.map(({ entry }) => entry),
    admit.map(({ request }) => request),
  ]);
}

/** One row a workload, difficulty, instant and kind of residuals, over the seeds. */
export function calibrated({ test, question }: CalibrationStep, runs: readonly Calibrated[]): Falsification {
  const groups = new Map<string, Calibrated[]>();
  for (const run of runs) {
    const key = JSON.stringify([run.workload, run.sigma, run.at, run.residuals]);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  const rows = [...groups.values()].map((group) => {
    const { workload, sigma, at, residuals } = group[0]!;
    const sum = (of: (run: Calibrated) => number): number => group.reduce((total, run) => total + of(run), 0);
    const estimates = sum((run) => run.estimates);
    const bias = sum((run) => run.predictedSeconds) / sum((run) => run.actualSeconds) - 1;
    const coverP90 = sum((run) => run.covered) / estimates;
    return {
      where: `${workload}, difficulty sigma ${sigma}, at ${at}, ${residuals} residuals`,
      verdict: `mean error ${signed(bias)}, p90 covers ${percent(coverP90)}`,
      workload,
      sigma,
      at,
      series: `${workload}, ${residuals}`,
      residuals,
      estimates,
      bias,
      absoluteError: sum((run) => run.absoluteErrorSeconds) / sum((run) => run.actualSeconds),
      coverP90,
      changed:
        sum((run) => run.changed) /
        Math.max(
          1,
          sum((run) => run.decisions),
        ),
      ratio: 1 + bias,
    };
  });
  const arrivals = rows.filter(({ at }) => at === "arrival");
  const coverage = (residuals: Residuals): string =>
    percent(mean(arrivals.flatMap((row) => (row.residuals === residuals && row.sigma > 0 ? [row.coverP90] : []))));
  const most = Math.max(...rows.map(({ changed }) => changed));
  return {
    test,
    question,
    verdict: `p90 of L covers ${coverage("independent")} with independent and ${coverage("correlated")} with correlated residuals where tasks differ in difficulty; up to ${percent(most)} of contended decisions change`,
    detail: `Estimates from when the first tasks were over; truth: remaining path on true lengths. ${rows
      .map(
        (row) =>
          `${row.where}: ${row.verdict}, mean absolute error ${percent(row.absoluteError)}, ${percent(row.changed)} of contended decisions change`,
      )
      .join("; ")}`,
    rows,
    charts: (["arrival", "ready"] as const).flatMap((at) => [
      chart(`Coverage of p90 of the remaining path, at ${at}`, "coverP90", at, 0.9),
      chart(`Predicted over actual remaining path, at ${at}`, "ratio", at, 1),
    ]),
  };
}

function chart(title: string, value: string, at: string, level: number) {
  const axes = { xLabel: "spread of task difficulty, sigma of its logarithm", yLabel: "" } as const;
  return { kind: "lines", title, ...axes, value, over: "sigma", series: "series", only: { at }, level } as const;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function signed(share: number): string {
  return `${share >= 0 ? "+" : ""}${percent(share)}`;
}

/** The cell of a calibration run: as the preset has it, under the published search. */
export function calibrationCell(
  step: CalibrationStep,
  made: Pick<Cell, "workload" | "variant" | "budgetTokens" | "arm" | "seed" | "ratePerSecond">,
): Cell {
  const { load, tasks, warmupTasks } = step;
  return { ...made, arrival: "poisson", load, profile: DEFAULT_PROFILE, hostTier: "pcie", reserve: "own", tasks, warmupTasks };
}
