import { generatedTokens, type RequestState, type StageState, type State, type TaskState } from "../state.ts";
import { frameKey } from "../frame-key.ts";
import { blendedMean, PRIOR } from "./profile.ts";

/** The seam between decisions and what is believed about lengths. All results are finite and >= 0. */
export interface Estimator {
  /** o_r: output tokens expected of the call in all, within [min(8, max), maxTokens]. */
  expectedOutputTokens(request: RequestState): number;
  /** x_r: tokens it will still generate. */
  remainingTokens(request: RequestState): number;
  /** E[X]: LLM service of one visit of the stage, seconds. */
  stageSeconds(task: TaskState, stage: StageState): number;
  /** E[Z]: service it still needs given what it has attained, seconds; 0 when over. */
  residualSeconds(task: TaskState, stage: StageState): number;
  /** T_i of a task whose structure is not declared: service of the calls still expected, seconds. */
  tailSeconds(task: TaskState): number;
}

/** s(q, o) = p*q + h*o, seconds. */
export function serviceSeconds(state: State, promptTokens: number, outputTokens: number): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  return p * promptTokens + h * outputTokens;
}

function nonNegative(value: number | null | undefined): number | null {
  return value !== null && value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Means per (tenant, agent, stage) with the built-in prior; no distribution. */
export function meanEstimator(state: State): Estimator {
  const outputMean = (keys: readonly string[], declared: number | null): number =>
    blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s.outputTokens,
      PRIOR.outputTokens,
      declared,
    );

  const expectedOutputTokens = (request: RequestState): number => {
    const { spec } = request;
    const task = state.tasks.get(spec.task);
    const stage = task?.stages.get(spec.stage);
    const declared =
      nonNegative(spec.expectedOutputTokens) ??
      nonNegative(stage?.declared.outputTokens) ??
      nonNegative(task?.hints.expectedOutputTokens);
    const limit = outputLimitTokens(request);
    const mean = Math.max(8, outputMean(stage?.keys ?? [], declared));
    const y = generatedTokens(request);
    return Math.min(limit, y > Math.min(limit, mean) ? Math.max(mean, 1.3 * y + 32) : mean);
  };

  const remainingTokens = (request: RequestState): number => {
    const y = generatedTokens(request);
    const left = Math.max(0, outputLimitTokens(request) - y);
    return Math.min(left, Math.max(expectedOutputTokens(request) - y, 0.3 * y, 32));
  };

  const callSeconds = (stage: StageState): number => {
    const { keys } = stage;
    const prompt = blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s.promptTokens,
      PRIOR.promptTokens,
      null,
    );
    const output = outputMean(keys, nonNegative(stage.declared.outputTokens));
    return serviceSeconds(state, prompt, output);
  };

  const stageSeconds = (_task: TaskState, stage: StageState): number => {
    const { keys } = stage;
    const declared = nonNegative(stage.declared.serviceSeconds);
    if (declared !== null)
      return blendedMean(
        state.profile,
        keys,
        (s) => s.stages,
        (s) => s.serviceSeconds,
        0,
        declared,
      );
    const learned = state.profile.stats.get(keys[0] ?? "");
    if (learned !== undefined && learned.stages >= 8) return learned.serviceSeconds;
    const live = stage.request === null ? undefined : state.requests.get(stage.request);
    const call =
      live === undefined ? callSeconds(stage) : serviceSeconds(state, live.spec.ownPromptTokens, expectedOutputTokens(live));
    return call * Math.max(1, nonNegative(stage.declared.rounds?.mean) ?? 1);
  };

  const residualSeconds = (task: TaskState, stage: StageState): number => {
    if (stage.status === "done" || stage.status === "skipped" || stage.status === "failed") return 0;
    const whole = stageSeconds(task, stage);
    if (stage.attainedSeconds <= 0) return whole;
    return Math.max(state.config.speeds.decodeSecondsPerToken, whole - stage.attainedSeconds);
  };

  const tailSeconds = (task: TaskState): number => {
    const hinted = nonNegative(task.hints.remainingPathSeconds);
    if (hinted !== null) {
      let live = 0;
      for (const stage of task.stages.values()) if (stage.request !== null) live = Math.max(live, residualSeconds(task, stage));
      return Math.max(0, hinted - (task.attainedSeconds - task.hintAttainedSeconds) - live);
    }
    const seen = state.profile.callsPerTask.get(frameKey(task.tenant, task.workflow ?? ""));
    const calls = seen === undefined ? PRIOR.callsPerTask : (seen.mean * seen.tasks + PRIOR.callsPerTask) / (seen.tasks + 1);
    const left = Math.max(0, calls - task.callsStarted);
    if (left === 0) return 0;
    const keys = [frameKey(task.tenant)];
    const prompt = blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s.promptTokens,
      PRIOR.promptTokens,
      null,
    );
    const output = blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s.outputTokens,
      PRIOR.outputTokens,
      null,
    );
    return left * serviceSeconds(state, prompt, output);
  };

  return { expectedOutputTokens, remainingTokens, stageSeconds, residualSeconds, tailSeconds };
}

/** The client's output limit; a limit that is absent or absurd counts as 0 or more, never NaN. */
export function outputLimitTokens(request: RequestState): number {
  const max = request.spec.maxTokens;
  return max > 0 ? max : 0;
}
