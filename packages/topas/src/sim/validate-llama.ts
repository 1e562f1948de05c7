import { simulate, validationRow, type Profile, type ValidationRow } from "@topas/sim";
import type { MadeModel } from "../engine-choice.ts";
import { calibrate, QUICK, type CalibratedProfile } from "./calibrate.ts";
import { runOnLlama, supervisorTasks, type LlamaRun, type Outcome } from "./llama-run.ts";

const POLICY = "fcfs-o";
const TOLERANCE_PCT = 10;
/** Below the agents' prefixes and a full batch together, so that prefixes come and go. */
const KV_TOKENS = 2048;

export interface LlamaValidation {
  readonly rows: readonly ValidationRow[];
  /** The same for every round alone, to show how much the machine itself moves. */
  readonly rounds: readonly { readonly measured: Outcome; readonly simulated: Outcome }[];
}

/**
 * The same requests on the embedded engine and in the simulator; means over rounds are compared. Without a calibration each round
 * is simulated with one made right before it, since a busy machine does not stay what it was.
 */
export async function validateLlama(
  model: MadeModel,
  calibrated: CalibratedProfile | null,
  rounds: number,
  tasks: number,
  gapSeconds: number,
): Promise<LlamaValidation> {
  // Code that is not compiled yet is slow: a short run first, on an engine of its own.
  await runOnLlama(model, POLICY, KV_TOKENS, supervisorTasks(3, gapSeconds));
  const done: { measured: Outcome; simulated: Outcome }[] = [];
  for (let round = 0; round < rounds; round++) {
    const { profile, frontendMs } = calibrated ?? (await calibrate(model, QUICK, null));
    const real = await runOnLlama(model, POLICY, KV_TOKENS, supervisorTasks(tasks, gapSeconds));
    done.push({ measured: real.measured, simulated: simulated(profile, frontendMs / 1000, real) });
  }
  const name = `embedded engine ${model}, ${tasks} supervisor tasks, ${POLICY}`;
  const rows = (["meanTaskSeconds", "meanTtftSeconds", "totalSeconds", "engineSeconds"] as const).map((metric) => {
    const over = (side: "measured" | "simulated"): number => done.reduce((sum, each) => sum + each[side][metric], 0) / rounds;
    return validationRow(name, metric, over("measured"), over("simulated"), TOLERANCE_PCT);
  });
  return { rows, rounds: done };
}

/** The frontend is a constant in front of every call: in the simulator the wait before it. */
function simulated(profile: Profile, frontendSeconds: number, { agents, tasks }: LlamaRun): Outcome {
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
