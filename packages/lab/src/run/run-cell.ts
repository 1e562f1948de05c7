import type { PolicyChanges } from "@topas/core";
import { aloneSeconds, measure, referenceSpeeds, runLogOf, simulate, type SimConfig, type SimResult } from "@topas/sim";
import type { Cell } from "../grid/cell.ts";
import { foretold } from "../grid/estimates.ts";
import { readProfile } from "../profile.ts";
import { mean } from "../stats/describe.ts";
import { NO_METRICS, type Metrics } from "../results/metrics.ts";
import { loneCallSeconds } from "./alone.ts";
import { trendOf, type Trend } from "./stability.ts";
import { foresee, type Foreseen, type Truth } from "./truth.ts";
import { both, recordUses, replayUses } from "./uses.ts";
import { waitingOf } from "./waiting.ts";
import { workloadOf, type CellWorkload } from "./workload.ts";

/** What a cell gives: a function of the cell alone, so that it does not matter which worker ran it, or when. */
export interface CellResult {
  readonly metrics: Metrics;
  readonly inputs: string;
  readonly trend: Trend;
  /** Why there are no figures. */
  readonly error: string | null;
  /** Tasks over the time until the last one ended: the capacity, when all arrived at once. */
  readonly tasksPerSecond: number;
}

/** A call that waits longer than this for its admission is starved. */
export const STARVE_AFTER_SECONDS = 600;

export function runCell(cell: Cell): CellResult {
  const { workload, inputs } = workloadOf(cell);
  const profile = readProfile(cell.profile);
  const tasks = cell.arm.foretold === true ? foretold(workload.tasks) : workload.tasks;
  const play = (foreseen: Foreseen | null): SimResult => {
    const config = simConfig(cell, foreseen?.truth);
    const onEvent = foreseen === null ? {} : { onEvent: foreseen.onEvent };
    return simulate({ ...config, ...onEvent, profile, agents: workload.agents, tasks });
  };
  let result: SimResult;
  try {
    result =
      cell.arm.truth === true ? withTruth(workload, referenceSpeeds(profile, cell.hostTier), play, cell.arm.policy) : play(null);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { metrics: NO_METRICS, inputs, trend: { rise: 0, inSystem: 0 }, error: message, tasksPerSecond: 0 };
  }
  const callSeconds = loneCallSeconds(profile);
  const log = runLogOf(result, {
    agents: workload.agents,
    ...(profile.powerWatts === undefined ? {} : { powerWatts: profile.powerWatts }),
    aloneSeconds: (task) => aloneSeconds(task, workload.agents, callSeconds),
  });
  const measured = measure(log, { warmupTasks: cell.warmupTasks, starveAfterSeconds: STARVE_AFTER_SECONDS });
  const { hostToDeviceBytesPerSecond } = profile.transfer;
  const metrics: Metrics = {
    ...pick(measured),
    ...waitingOf(result.calls, workload.agents, result.budgetTokens),
    prefixMoveS: measured.prefixMoveS ?? result.movedBytes / hostToDeviceBytesPerSecond,
    decisions: result.policy === null ? null : result.decisions,
    aloneMeanS: mean(result.tasks.map(({ task }) => aloneSeconds(task, workload.agents, callSeconds))),
  };
  const spans = result.tasks.map(({ arrivalSeconds, doneSeconds }) => ({ arrivalSeconds, finishSeconds: doneSeconds }));
  return {
    metrics,
    inputs,
    trend: trendOf(spans),
    error: null,
    tasksPerSecond: result.tasks.length / result.endSeconds,
  };
}

/** A second pass where the truth holds what only a schedule can tell: which prefix is used when. */
function withTruth(
  workload: CellWorkload["workload"],
  speeds: ReturnType<typeof referenceSpeeds>,
  play: (foreseen: Foreseen) => SimResult,
  policy: string | undefined,
): SimResult {
  const first = foresee(workload, speeds);
  if (policy !== "oracle-belady") return play(first);
  const uses = recordUses();
  play({ ...first, onEvent: both(first.onEvent, uses.onEvent) });
  const second = foresee(workload, speeds);
  const future = replayUses(uses.order);
  return play({
    truth: { ...second.truth, nextUseSeconds: future.nextUseSeconds },
    onEvent: both(second.onEvent, future.onEvent),
  });
}

function simConfig(cell: Cell, truth: Truth | undefined): Omit<SimConfig, "profile" | "agents" | "tasks"> {
  const { arm, hostTier, reserve } = cell;
  const budgetTokens = cell.budgetTokens * (arm.budgetFactor ?? 1);
  const record = { log: "full", gaps: true } as const;
  const rulesOptions = { hostTier };
  if (arm.rules !== "joint") {
    const sglang = { order: arm.engineOrder ?? "fcfs" };
    return { budget: budgetTokens, rules: arm.rules, rulesOptions: { ...rulesOptions, sglang }, record };
  }
  const own = arm.reserve === undefined || arm.reserve === "none" ? {} : { reserve: arm.reserve };
  const changes: PolicyChanges = {
    ...(arm.options as PolicyChanges | undefined),
    ...(arm.fit === undefined ? {} : { fit: arm.fit }),
    ...(reserve === "own" ? own : { reserve }),
    ...(truth === undefined ? {} : { truth }),
  };
  return {
    budget: budgetTokens,
    rules: "joint",
    rulesOptions,
    policy: arm.policy ?? arm.name,
    policyOptions: changes,
    ...(arm.redo === undefined ? {} : { redo: arm.redo }),
    record,
  };
}

/** Of a measured log, what a results file holds. */
export function pick(measured: ReturnType<typeof measure>): Metrics {
  const out: Record<string, unknown> = {};
  for (const name of Object.keys(NO_METRICS)) out[name] = measured[name as keyof typeof measured] ?? null;
  return out as unknown as Metrics;
}
