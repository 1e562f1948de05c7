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
  /** s(q, o) of the whole call, seconds (algorithm 2.1). */
  callServiceSeconds(request: RequestState): number;
  /** A_r = A(q_r, o_r): KV held times time held by the whole call, prefix excluded, token-seconds (2.1, 2.7). */
  callAreaTokenSeconds(request: RequestState): number;
  /** W_i: remaining KV area of the task, tail included, token-seconds (2.7). */
  remainingAreaTokenSeconds(task: TaskState): number;
  /** Remaining LLM service of the task summed over its stages, tail included, seconds. */
  remainingWorkSeconds(task: TaskState): number;
  /** f_i: how much longer this task's outputs are than its profiles say; 1 in mode `mean` (2.6). */
  difficulty(task: TaskState): number;
  /** Area of the calls still expected of a task whose structure is not declared, token-seconds (2.8). */
  tailAreaTokenSeconds(task: TaskState): number;
  /** c_v: chance that the stage makes another round after the ones it has begun, within [0, 1] (2.9). */
  anotherRoundProbability(task: TaskState, stage: StageState): number;
  /** Quantile q of the waits seen between two calls, seconds; name: agent or tool (2.2, 2.3). */
  toolWaitQuantile(tenant: string, name: string, q: number): number;
  /** Observed waits of this agent or tool, ascending, seconds; empty when none was seen. */
  toolWaits(tenant: string, name: string): readonly number[];
}

/** s(q, o) = p*q + h*o, seconds. */
export function serviceSeconds(state: State, promptTokens: number, outputTokens: number): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  return p * promptTokens + h * outputTokens;
}

function nonNegative(value: number | null | undefined): number | null {
  return value !== null && value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

/** How lengths are believed (2.5, 2.6). Defaults first: mean; 32 samples; a finished round counts as the whole stage. */
export interface EstimatorOptions {
  readonly estimate: "mean" | "posterior" | "correlated";
  readonly samples: number;
  readonly roundGain: RoundGain;
  /** Ablation `topas-inside`: the longest path of mean residuals instead of the mean of longest paths. */
  readonly inside: boolean;
  /** Enumerate instead of sampling when there are at most so many combinations of residual values. */
  readonly exactUpTo: number;
}

/** What a finished call takes off the path: the whole stage, or at most this call's own service (3.4, ambiguity 1). */
export type RoundGain = "stage" | "call";

export const ESTIMATOR_DEFAULTS: EstimatorOptions = {
  estimate: "mean",
  samples: 32,
  roundGain: "stage",
  inside: false,
  exactUpTo: 64,
};

/** The estimator of a state; it reads the state when asked and never writes it. */
export function createEstimator(state: State, _options: Partial<EstimatorOptions> = {}): Estimator {
  return meanEstimator(state);
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

  const unfinished = (task: TaskState): StageState[] =>
    [...task.stages.values()].filter((stage) => stage.request !== null || !stage.virtual);
  const area = (q: number, o: number): number => {
    const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
    return h * (q * o + (o * o) / 2) + p * q * q;
  };
  const remainingWorkSeconds = (task: TaskState): number =>
    unfinished(task).reduce((sum, stage) => sum + residualSeconds(task, stage), task.graph === null ? tailSeconds(task) : 0);
  return {
    expectedOutputTokens,
    remainingTokens,
    stageSeconds,
    residualSeconds,
    tailSeconds,
    callServiceSeconds: (request) => serviceSeconds(state, request.spec.ownPromptTokens, expectedOutputTokens(request)),
    callAreaTokenSeconds: (request) => area(request.spec.ownPromptTokens, expectedOutputTokens(request)),
    remainingAreaTokenSeconds(task) {
      const call = serviceSeconds(state, PRIOR.promptTokens, PRIOR.outputTokens);
      return (remainingWorkSeconds(task) / call) * area(PRIOR.promptTokens, PRIOR.outputTokens);
    },
    remainingWorkSeconds,
    difficulty: () => 1,
    tailAreaTokenSeconds(task) {
      const call = serviceSeconds(state, PRIOR.promptTokens, PRIOR.outputTokens);
      return ((task.graph === null ? tailSeconds(task) : 0) / call) * area(PRIOR.promptTokens, PRIOR.outputTokens);
    },
    anotherRoundProbability: () => 0.5,
    toolWaitQuantile: () => 0.07,
    toolWaits: () => [],
  };
}

/** The client's output limit; a limit that is absent or absurd counts as 0 or more, never NaN. */
export function outputLimitTokens(request: RequestState): number {
  const max = request.spec.maxTokens;
  return max > 0 ? max : 0;
}
