import { frameKey } from "../frame-key.ts";
import { buildJointPath, type JointPath } from "../graph/joint-path.ts";
import { generatedTokens, type RequestState, type StageState, type State, type TaskState } from "../state.ts";
import { callArea, callSeconds } from "./area.ts";
import { blendedMean } from "./blend.ts";
import { cacheOf } from "./cache.ts";
import { completeOptions, type EstimatorOptions } from "./options.ts";
import { DECLARED_WEIGHT, PRIOR } from "./profile.ts";
import { anotherRound } from "./rounds.ts";
import { declaredOutputTokens, grownOutput, nonNegative, outputLimitTokens } from "./stage-lengths.ts";
import { learnedTail, tailSeconds as tailOf } from "./tail.ts";
import { createLengths, type TaskLengths } from "./task-lengths.ts";
import { observedWaits, waitLeft, waitQuantile } from "./waits.ts";

export { ESTIMATOR_DEFAULTS } from "./options.ts";
export type { EstimatorOptions, RoundGain } from "./options.ts";
export { outputLimitTokens } from "./stage-lengths.ts";

/** s(q, o) at the state's reference speeds, seconds. */
export function serviceSeconds(state: State, promptTokens: number, outputTokens: number): number {
  return callSeconds(state.config.speeds, promptTokens, outputTokens);
}

/** What is believed of single calls (algorithm 2.1, 2.7). */
export interface CallEstimates {
  /** o_r: output tokens expected of the call in all, within [min(8, max), maxTokens]. */
  expectedOutputTokens(request: RequestState): number;
  /** x_r: tokens it will still generate. */
  remainingTokens(request: RequestState): number;
  /** Output tokens to promise on admission: o_r, or what the receipt asks to reserve instead; never more than can be generated. */
  reservedOutputTokens(request: RequestState): number;
  /** s(q, o) of the whole call, seconds. */
  callServiceSeconds(request: RequestState): number;
  /** A_r = A(q_r, o_r): KV held times time held by the whole call, prefix excluded, token-seconds. */
  callAreaTokenSeconds(request: RequestState): number;
  /** Least the task needs once this call is all that is known: the rest of it, and what a loop past its bound adds, seconds. */
  callSecondsAhead(request: RequestState): number;
  /** The live call of a stage. */
  liveCall(stage: StageState): RequestState | null;
}

/** What is believed of stages and tasks (algorithm 2.4, 2.6 to 2.8). Frozen per stage until something happens to it. */
export interface TaskEstimates {
  /** E[X]: LLM service of one visit of the stage, seconds. */
  stageSeconds(task: TaskState, stage: StageState): number;
  /** E[Z]: service it still needs given what it has attained, seconds; 0 when over. */
  residualSeconds(task: TaskState, stage: StageState): number;
  /** T_i of a task whose structure is not declared: longest path of the calls still expected, seconds. */
  tailSeconds(task: TaskState): number;
  /** Area of the calls still expected of a task whose structure is not declared, token-seconds. */
  tailAreaTokenSeconds(task: TaskState): number;
  /**
   * W_i: remaining KV area of the task, tail included, token-seconds; at least what its live calls have left, and a call past
   * the declared rounds of its loop is followed by as many more as there were (K68).
   */
  remainingAreaTokenSeconds(task: TaskState): number;
  /** Remaining LLM service of the task summed over its stages, tail included, seconds. */
  remainingWorkSeconds(task: TaskState): number;
  /** f_i: how much longer this task's outputs are than its profiles say; 1 in mode `mean`. */
  difficulty(task: TaskState): number;
}

/** What is believed of the time between calls (algorithm 2.2, 2.9). */
export interface WaitEstimates {
  /** c_v: chance that the stage makes another round after the ones it has begun, within [0, 1]. */
  anotherRoundProbability(task: TaskState, stage: StageState): number;
  /** Quantile q of the waits seen between two calls, seconds; name: agent or tool. */
  toolWaitQuantile(tenant: string, name: string, q: number): number;
  /** Observed waits of this agent or tool, ascending, seconds; empty when none was seen. */
  toolWaits(tenant: string, name: string): Float64Array;
  /** Seconds until a stage in toolWait is expected to call again; 0 when it does not wait. */
  toolWaitLeftSeconds(task: TaskState, stage: StageState): number;
}

/** The seam between decisions and what is believed about lengths. All results are finite and >= 0; asking changes nothing. */
export interface Estimator extends CallEstimates, TaskEstimates, WaitEstimates {
  readonly options: EstimatorOptions;
  /** What `taskPath` reads. */
  lengths(task: TaskState): TaskLengths;
  jointPath(task: TaskState): JointPath;
}

/** The estimator with its default options. */
export function meanEstimator(state: State): Estimator {
  return createEstimator(state);
}

const DEFAULTS: Partial<EstimatorOptions> = {};

/** The estimator of a state, one for each object of options; it reads the state when asked and never writes it. */
export function createEstimator(state: State, changes: Partial<EstimatorOptions> = DEFAULTS): Estimator {
  const { estimators } = cacheOf(state);
  let estimator = estimators.get(changes);
  if (estimator === undefined) estimators.set(changes, (estimator = newEstimator(state, completeOptions(changes))));
  return estimator;
}

function newEstimator(state: State, options: EstimatorOptions): Estimator {
  const { speeds } = state.config;
  const lengths = createLengths(state, options);
  const difficulty = (task: TaskState): number => (options.estimate === "mean" ? 1 : lengths(task).factor);

  const expectedOutputTokens = (request: RequestState): number => {
    const task = state.tasks.get(request.spec.task);
    const stage = task?.stages.get(request.spec.stage);
    const declared = declaredOutputTokens(task, stage, request);
    const keys = stage?.keys ?? [];
    const factor = task === undefined ? 1 : difficulty(task);
    const mean = blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s.outputTokens * factor,
      PRIOR.outputTokens * factor,
      declared,
    );
    return grownOutput(request, mean);
  };
  const liveCall = (stage: StageState): RequestState | null =>
    stage.request === null ? null : (state.requests.get(stage.request) ?? null);
  const callSecondsLeft = (request: RequestState): number => {
    const prompt = Math.max(0, request.spec.ownPromptTokens + request.redoneTokens - request.filledTokens);
    return callSeconds(speeds, prompt, Math.max(0, expectedOutputTokens(request) - generatedTokens(request)));
  };
  const areaOf = (request: RequestState): number => callArea(speeds, request.spec.ownPromptTokens, expectedOutputTokens(request));
  /** A_r of each live call, less the part of its service that is behind it. */
  const liveArea = (task: TaskState): number => {
    if (task.live === 0) return 0;
    let total = 0;
    for (const stage of task.stages.values()) {
      const call = liveCall(stage);
      if (call === null) continue;
      const whole = callSeconds(speeds, call.spec.ownPromptTokens, expectedOutputTokens(call));
      const left = whole > 0 ? Math.min(1, callSecondsLeft(call) / whole) : 0;
      total += areaOf(call) * (left + roundsOver(task, stage));
    }
    return total;
  };
  const slotOf = (task: TaskState, stage: StageState): number | undefined => lengths(task).slots.get(stage.id);

  const residualSeconds = (task: TaskState, stage: StageState): number => {
    const slot = slotOf(task, stage);
    return slot === undefined ? 0 : lengths(task).mean[slot]!;
  };
  const tailSeconds = (task: TaskState): number => {
    let live = 0;
    if (task.live > 0 && task.hints.remainingPathSeconds !== undefined)
      for (const stage of task.stages.values()) if (stage.request !== null) live = Math.max(live, residualSeconds(task, stage));
    return task.done ? 0 : tailOf(state, task, difficulty(task), live);
  };
  const openTail = (task: TaskState) => (task.graph === null && !task.done ? learnedTail(state, task, difficulty(task)) : null);

  const sum = (task: TaskState, of: "mean" | "area"): number => {
    if (task.done || task.failure !== null) return 0;
    const known = lengths(task);
    const values = known[of];
    let total = 0;
    for (const value of values) total += value;
    return total + loopsAhead(task, known, of);
  };
  const remainingWorkSeconds = (task: TaskState): number =>
    blendWork(task, sum(task, "mean") + (openTail(task)?.workSeconds ?? 0), trust(state, task));

  const { paths } = cacheOf(state);
  const pathName = `${options.estimate}|${options.samples}|${options.exactUpTo}|${options.inside}`;
  let byTask = paths.get(pathName);
  if (byTask === undefined) paths.set(pathName, (byTask = new WeakMap()));
  const known = byTask;

  return {
    options,
    lengths,
    jointPath(task) {
      const stages = lengths(task);
      const old = known.get(stages);
      if (old?.revision === stages.revision) return old;
      const path = buildJointPath(task, stages, task.graph === null ? tailSeconds(task) : 0, options);
      known.set(stages, path);
      return path;
    },
    expectedOutputTokens,
    remainingTokens(request) {
      const y = generatedTokens(request);
      const left = Math.max(0, outputLimitTokens(request) - y);
      return Math.min(left, Math.max(expectedOutputTokens(request) - y, 0.3 * y, 32));
    },
    reservedOutputTokens(request) {
      const asked = nonNegative(state.tasks.get(request.spec.task)?.hints.reserveTokens);
      const expected = asked === null ? expectedOutputTokens(request) : Math.max(0, asked - request.spec.ownPromptTokens);
      return Math.min(outputLimitTokens(request), Math.max(expected, generatedTokens(request) + 32));
    },
    callServiceSeconds: (request) => callSeconds(speeds, request.spec.ownPromptTokens, expectedOutputTokens(request)),
    callAreaTokenSeconds: areaOf,
    callSecondsAhead(request) {
      const task = state.tasks.get(request.spec.task);
      const stage = task?.stages.get(request.spec.stage);
      const over = task === undefined || stage === undefined ? 0 : roundsOver(task, stage);
      return callSecondsLeft(request) + over * callSeconds(speeds, request.spec.ownPromptTokens, expectedOutputTokens(request));
    },
    liveCall,
    stageSeconds(task, stage) {
      const slot = slotOf(task, stage);
      return slot === undefined ? 0 : lengths(task).whole[slot]!;
    },
    residualSeconds,
    tailSeconds,
    tailAreaTokenSeconds: (task) => openTail(task)?.areaTokenSeconds ?? 0,
    remainingAreaTokenSeconds(task) {
      const area = sum(task, "area") + (openTail(task)?.areaTokenSeconds ?? 0);
      const work = sum(task, "mean") + (openTail(task)?.workSeconds ?? 0);
      const believed = work > 0 ? (area * blendWork(task, work, trust(state, task))) / work : area;
      return Math.max(believed, liveArea(task));
    },
    remainingWorkSeconds,
    difficulty,
    anotherRoundProbability: (_task, stage) => anotherRound(state, stage),
    toolWaitQuantile: (tenant, name, q) => waitQuantile(state.profile, tenant, name, q),
    toolWaits: (tenant, name) => observedWaits(state.profile, tenant, name),
    toolWaitLeftSeconds: (task, stage) => waitLeft(state, task, stage),
  };
}

/** A loop that has passed its declared bound is expected to go on for as many rounds as it has had; else 0. */
function roundsOver(task: TaskState, stage: StageState): number {
  if (task.loops.size === 0) return 0;
  const loop = task.loops.get(task.graph?.nodeOf.get(stage.id) ?? -1);
  return loop?.overrun === true ? loop.roundsDone : 0;
}

/** Rounds still to begin of declared loops, beyond what is open of the present one: seconds or token-seconds. */
function loopsAhead(task: TaskState, known: TaskLengths, of: "mean" | "area"): number {
  let total = 0;
  for (const [index, loop] of task.loops) {
    const node = task.graph!.nodes[index]!;
    if (loop.exited || node.loop === null) continue;
    const begun = loop.roundsDone + (loop.open ? 1 : 0);
    const rounds = begun >= node.loop.max ? 0 : Math.min(node.loop.max - begun, Math.max(1, node.loop.mean - begun));
    for (const { id } of node.stages) {
      const slot = known.slots.get(id)!;
      const whole = of === "mean" ? known.whole[slot]! : known.wholeArea[slot]!;
      const ahead = loop.open ? 0 : known[of][slot]!;
      total += task.stages.get(id)!.status === "skipped" ? 0 : rounds * whole - ahead;
    }
  }
  return total;
}

/** Samples behind the learned work: what a declared amount of work has to be weighed against. */
function trust(state: State, task: TaskState): number {
  if (task.graph === null) return state.profile.workflows.get(frameKey(task.tenant, task.workflow ?? ""))?.tasks ?? 0;
  let least = Infinity;
  for (const stage of task.stages.values()) least = Math.min(least, state.profile.stats.get(stage.keys[0] ?? "")?.stages ?? 0);
  return Math.min(512, least === Infinity ? 0 : least);
}

/** A declared remaining work counts as 4 pseudo-samples against what was learned (2.3), less what was served since. */
function blendWork(task: TaskState, learnedSeconds: number, samples: number): number {
  const hinted = nonNegative(task.hints.remainingWorkSeconds);
  if (hinted === null || task.done) return learnedSeconds;
  const declared = Math.max(0, hinted - (task.attainedSeconds - task.hintAttainedSeconds));
  return (learnedSeconds * samples + declared * DECLARED_WEIGHT) / (samples + DECLARED_WEIGHT);
}
