import { simulate, type Profile, type SimConfig, type SimResult } from "@topas/sim";
import type { Arm } from "../conditions.ts";
import type { Prediction } from "../results/schema.ts";
import { kendall } from "../stats/kendall.ts";
import { mean } from "../stats/describe.ts";
import type { LiveOutcome } from "./run-live.ts";
import { schedulerOf } from "./run-live-cell.ts";
import type { Shape } from "./shapes.ts";

/** Cost models of the engine before and after a seed's cells: a machine that others use is not the same all the time. */
export type ProfilesOf = (seed: number) => readonly Profile[];

/** The simulator's engine is the embedded one: mixed steps, KV that left goes to host memory without a bound worth naming. */
export function twinConfig(shape: Shape, arm: Arm, profile: Profile): SimConfig {
  const { policy, policyOptions } = schedulerOf(arm);
  const stock = policy === "passthrough";
  return {
    profile,
    budget: shape.budgetTokens,
    rules: "joint",
    rulesOptions: { mixedSteps: true, hostTier: shape.hostTierMib > 0 ? "pcie" : "none", hostRatio: 100 },
    // docs/decisions/0005
    policy: stock ? "fcfs" : policy,
    policyOptions: stock ? { fit: "stop", reserve: "full" } : policyOptions,
    agents: shape.agents,
    tasks: shape.tasks,
  };
}

/** Mean time of the workflow tasks of a simulated shape, seconds. */
export function meanTaskSeconds(shape: Shape, result: SimResult): number {
  const classes = new Map(shape.tasks.map((task) => [task.id, task.class]));
  const mine = result.tasks.filter(({ task }) => classes.get(task.id) === "workflow");
  return mean(mine.map(({ arrivalSeconds, doneSeconds }) => doneSeconds - arrivalSeconds));
}

/**
 * Predicted and measured mean task time per setting and policy: means over the seeds that have both. A task's time is from its first call
 * at the gateway to the end of its last, on both sides. At speed: step costs scaled so that the time in steps is what the cell had, which
 * takes out a machine that was slower or faster than when it was calibrated, and keeps what scheduling does. Predicted is the mean over the two calibrations around the seed.
 */
export function predictions(outcomes: readonly LiveOutcome[], shapes: readonly Shape[], profilesOf: ProfilesOf): Prediction[] {
  const shapeFor = new Map(shapes.map((shape) => [keyOf(shape), shape]));
  const pairs = new Map<string, { cell: LiveOutcome["cell"]; measured: number[]; predicted: number[]; atSpeed: number[] }>();
  for (const { cell, result } of outcomes) {
    const { row, workload, seed, arm, ratePerSecond } = cell;
    const shape = shapeFor.get(
      keyOf({ workload, arrival: row.arrival, load: row.load, seed, ratePerSecond: ratePerSecond ?? 0 }),
    );
    const profiles = profilesOf(seed);
    if (shape === undefined || result === null || result.spanMeanS === null || profiles.length === 0) continue;
    const twins = profiles.flatMap((profile) => twinOf(shape, arm, profile) ?? []);
    if (twins.length < profiles.length) continue;
    const slower = (result.counters["step_seconds_total"] ?? 0) / twins[0]!.busySeconds;
    const even = slower > 0 ? twinOf(shape, arm, slowed(profiles[0]!, slower)) : null;
    const key = JSON.stringify([workload, row.arrival, row.load, arm.name]);
    const found = pairs.get(key) ?? { cell, measured: [], predicted: [], atSpeed: [] };
    found.measured.push(result.spanMeanS);
    found.predicted.push(mean(twins.map(({ meanSeconds }) => meanSeconds)));
    if (even !== null) found.atSpeed.push(even.meanSeconds);
    pairs.set(key, found);
  }
  const rows = [...pairs.values()].map(({ cell, measured, predicted, atSpeed }): Prediction => ({
    workload: cell.workload,
    arrival: cell.row.arrival,
    load: cell.row.load,
    policy: cell.arm.name,
    seeds: measured.length,
    measuredS: mean(measured),
    predictedS: mean(predicted),
    errorPercent: 100 * (mean(predicted) / mean(measured) - 1),
    atSpeedErrorPercent: atSpeed.length < measured.length ? null : 100 * (mean(atSpeed) / mean(measured) - 1),
    kendallTau: null,
  }));
  return rows.map((row) => ({ ...row, kendallTau: tauOf(rows.filter((other) => sameSetting(row, other))) }));
}

interface Twin {
  readonly meanSeconds: number;
  /** Time in steps. */
  readonly busySeconds: number;
}

/** Null: the simulated engine cannot run it, e.g. a limit that the whole budget cannot hold, which the gateway refuses. */
function twinOf(shape: Shape, arm: Arm, profile: Profile): Twin | null {
  try {
    const result = simulate(twinConfig(shape, arm, profile));
    return { meanSeconds: meanTaskSeconds(shape, result), busySeconds: result.recorder.busySeconds };
  } catch {
    return null;
  }
}

/** Every step of the CPU engine takes so many times as long. */
function slowed(profile: Profile, factor: number): Profile {
  const { step } = profile;
  if (step.kind !== "cpu") return profile;
  const scaled = Object.entries(step).map(([name, value]) => [name, typeof value === "number" ? value * factor : value]);
  const decodeMs = step.decodeMs.map(([sequences, ms]) => [sequences, ms * factor] as const);
  return { ...profile, step: { ...(Object.fromEntries(scaled) as typeof step), decodeMs } };
}

/** Null with fewer than two policies, or where one side ties all of them. */
function tauOf(rows: readonly Prediction[]): number | null {
  const tau = kendall(
    rows.map(({ measuredS }) => measuredS),
    rows.map(({ predictedS }) => predictedS),
  );
  return Number.isFinite(tau) ? tau : null;
}

const sameSetting = (a: Prediction, b: Prediction): boolean =>
  a.workload === b.workload && a.arrival === b.arrival && a.load === b.load;

function keyOf(of: Pick<Shape, "workload" | "arrival" | "load" | "seed" | "ratePerSecond">): string {
  return JSON.stringify([of.workload, of.arrival, of.load, of.seed, of.ratePerSecond]);
}
