import { simulate, validationRow, type ValidationRow } from "@topas/sim";
import type { MadeModel } from "../engine-choice.ts";
import { calibrate, QUICK, type CalibratedProfile } from "./calibrate.ts";
import { runOnLlama, supervisorTasks, type LlamaRun, type Outcome } from "./llama-run.ts";

const POLICY = "fcfs-o";
const TOLERANCE_PCT = 10;
/** Below the agents' prefixes and a full batch together, so that prefixes come and go. */
const KV_TOKENS = 2048;

export interface LlamaValidation {
  readonly rows: readonly ValidationRow[];
  /** Every round alone, to show how much the machine itself moves. */
  readonly rounds: readonly { readonly measured: Outcome; readonly simulated: Outcome }[];
}

export interface LlamaValidationOptions {
  readonly model: MadeModel;
  /** Null: one calibration before every round and one after the last; a round is simulated with both around it. */
  readonly calibrated: CalibratedProfile | null;
  readonly rounds: number;
  readonly tasks: number;
  readonly gapSeconds: number;
}

/** The same requests on the embedded engine and in the simulator; means over rounds are compared. */
export async function validateLlama(options: LlamaValidationOptions): Promise<LlamaValidation> {
  const { model, calibrated, rounds, tasks, gapSeconds } = options;
  const now = async (): Promise<CalibratedProfile> => calibrated ?? (await calibrate(model, QUICK, null));
  // Code that is not compiled yet is slow: a short run first, on an engine of its own.
  await runOnLlama(model, POLICY, KV_TOKENS, supervisorTasks(3, gapSeconds));
  const done: { readonly measured: Outcome; readonly simulated: Outcome }[] = [];
  let before = await now();
  for (let round = 0; round < rounds; round++) {
    const real = await runOnLlama(model, POLICY, KV_TOKENS, supervisorTasks(tasks, gapSeconds));
    const after = await now();
    done.push({ measured: real.measured, simulated: meanOutcome([simulated(before, real), simulated(after, real)]) });
    before = after;
  }
  const measured = meanOutcome(done.map((each) => each.measured));
  const found = meanOutcome(done.map((each) => each.simulated));
  const name = `${model}: ${tasks} supervisor tasks, ${POLICY}`;
  const rows = JUDGED.map((metric) => validationRow(name, metric, measured[metric], found[metric], TOLERANCE_PCT));
  const printed = (["engineSeconds", "steps"] as const).map((metric) =>
    validationRow(name, metric, measured[metric], found[metric], null),
  );
  return { rows: [...rows, ...printed], rounds: done };
}

const JUDGED = ["meanTaskSeconds", "meanTtftSeconds", "totalSeconds"] as const;

function meanOutcome(all: readonly Outcome[]): Outcome {
  const of = (name: keyof Outcome): number => all.reduce((sum, each) => sum + each[name], 0) / all.length;
  return {
    meanTaskSeconds: of("meanTaskSeconds"),
    meanTtftSeconds: of("meanTtftSeconds"),
    totalSeconds: of("totalSeconds"),
    engineSeconds: of("engineSeconds"),
    steps: of("steps"),
  };
}

/** The frontend is a constant in front of every call: in the simulator the wait before it. */
function simulated({ profile, frontendMs }: CalibratedProfile, { agents, tasks }: LlamaRun): Outcome {
  const frontendSeconds = frontendMs / 1000;
  const later = tasks.map((task) => ({
    ...task,
    arrivalSeconds: task.arrivalSeconds + frontendSeconds,
    stages: task.stages.map((stage, i) => ({
      ...stage,
      rounds: stage.rounds.map((one) => ({ ...one, toolWaitSeconds: i + 1 < task.stages.length ? frontendSeconds : 0 })),
    })),
  }));
  const result = simulate({
    profile,
    budget: KV_TOKENS,
    rules: "joint",
    rulesOptions: { mixedSteps: true, hostTier: "pcie", hostRatio: 100 },
    policy: POLICY,
    agents,
    tasks: later,
    record: { log: "none" },
  });
  const spans = result.tasks.map(({ arrivalSeconds, doneSeconds }) => doneSeconds - arrivalSeconds + frontendSeconds);
  const ttft = result.calls.map(({ readySeconds, firstTokenSeconds }) => firstTokenSeconds - readySeconds + frontendSeconds);
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const { busySeconds, steps } = result.recorder;
  return {
    meanTaskSeconds: mean(spans),
    meanTtftSeconds: mean(ttft),
    totalSeconds: result.endSeconds,
    engineSeconds: busySeconds,
    steps,
  };
}
