import { generatedTokens, type RequestState, type StageState, type State, type TaskState } from "../state.ts";
import { callArea, callSeconds } from "./area.ts";
import { blendedMean } from "./blend.ts";
import { tableFor } from "./cache.ts";
import { geometricQuantile, PRIOR } from "./prior.ts";
import { DECLARED_WEIGHT } from "./profile.ts";
import { insertLength, type LengthSet } from "./residual.ts";
import type { SampleTable } from "./table.ts";

/** Attained service that still counts: what a preemption destroyed has to be done again, seconds (algorithm 2.4). */
export function usefulSeconds(stage: StageState): number {
  return Math.max(0, stage.attainedSeconds - stage.lostSeconds);
}

export function nonNegative(value: number | null | undefined): number | null {
  return value !== null && value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

/** The client's output limit; a limit that is absent or absurd counts as 0 or more, never NaN. */
export function outputLimitTokens(request: RequestState): number {
  const max = request.spec.maxTokens;
  return max > 0 ? max : 0;
}

/** o_r once y tokens exist: never below them, and capped by max_tokens (algorithm 2.7, vector V29). */
export function grownOutput(request: RequestState, expectedTokens: number): number {
  const limit = outputLimitTokens(request);
  const y = generatedTokens(request);
  const o = Math.max(8, expectedTokens);
  return Math.min(limit, y > Math.min(limit, o) ? Math.max(o, 1.3 * y + 32) : o);
}

/** What the receipt or the graph says of the call's output; the nearest statement wins. */
export function declaredOutputTokens(
  task: TaskState | undefined,
  stage: StageState | undefined,
  request: RequestState,
): number | null {
  return (
    nonNegative(request.spec.expectedOutputTokens) ??
    nonNegative(stage?.declared.outputTokens) ??
    nonNegative(task?.hints.expectedOutputTokens)
  );
}

/**
 * The lengths a whole visit of the stage may have: observed ones times the task's factor f, and 4 of the declared value, or
 * the cold-start samples (2.2, 2.3). `ownFactors`: each observed one is first divided by its own task's factor (2.6). The
 * result is `scratch`, or the table's own set when nothing has to be changed in it: to be read only, before the next call.
 */
export function lengthsOf(
  scratch: LengthSet,
  state: State,
  task: TaskState,
  stage: StageState,
  factor: number,
  ownFactors: boolean,
): LengthSet {
  const whole = nonNegative(stage.declared.serviceSeconds);
  const call = whole === null ? declaredCall(state, task, stage) : null;
  const rounds = Math.max(1, nonNegative(stage.declared.rounds?.mean) ?? 1);
  const known = whole !== null || call !== null;
  const table = tableFor(state, stage.keys, rounds, !known);
  if (!known && !ownFactors && factor === 1) return table.set;
  scaleTable(scratch, table, factor, ownFactors);
  if (whole !== null) {
    const area = areaOfService(state, stage, whole);
    for (let i = 0; i < DECLARED_WEIGHT; i++) insertLength(scratch, whole, area, whole);
  } else if (call !== null) insertRounds(scratch, call, rounds);
  return scratch;
}

function scaleTable(out: LengthSet, table: SampleTable, factor: number, ownFactors: boolean): void {
  const { count, set, grown, areaFixed, areaLinear, areaSquare, factor: own } = table;
  const { fixed } = set;
  out.count = 0;
  out.whole = out.wholeArea = NaN;
  for (let k = 0; k < count; k++) {
    const f = ownFactors ? factor / own[k]! : factor;
    insertLength(out, fixed[k]! + f * grown[k]!, areaFixed[k]! + f * (areaLinear[k]! + f * areaSquare[k]!), fixed[k]!);
  }
}

/** Four visits of 1, 2, ... such calls, geometric with this mean and rescaled to it; none ends before the live call does. */
function insertRounds(set: LengthSet, call: DeclaredCall, mean: number): void {
  let sum = 0;
  for (let i = 0; i < DECLARED_WEIGHT; i++) sum += geometricQuantile(mean, (i + 0.5) / DECLARED_WEIGHT);
  const scale = (mean * DECLARED_WEIGHT) / sum;
  for (let i = 0; i < DECLARED_WEIGHT; i++) {
    const rounds = geometricQuantile(mean, (i + 0.5) / DECLARED_WEIGHT) * scale;
    const x = Math.max(rounds * call.seconds, call.leastSeconds);
    insertLength(set, x, call.seconds > 0 ? (call.area * x) / call.seconds : 0, x);
  }
}

interface DeclaredCall {
  readonly seconds: number;
  readonly area: number;
  /** Service of the rounds before plus this call: the visit cannot be shorter. */
  readonly leastSeconds: number;
}

function declaredCall(state: State, task: TaskState, stage: StageState): DeclaredCall | null {
  const { speeds } = state.config;
  const live = stage.request === null ? undefined : state.requests.get(stage.request);
  if (live === undefined) {
    const declared = nonNegative(stage.declared.outputTokens);
    if (declared === null) return null;
    const q = meanPrompt(state, stage.keys);
    return { seconds: callSeconds(speeds, q, declared), area: callArea(speeds, q, declared), leastSeconds: 0 };
  }
  const declared = declaredOutputTokens(task, stage, live);
  if (declared === null) return null;
  const q = computedPrompt(live);
  const o = grownOutput(live, declared);
  const seconds = callSeconds(speeds, q, o);
  const done = callSeconds(speeds, Math.max(0, live.filledTokens - live.reusedTokens - live.redoneTokens), generatedTokens(live));
  const before = stage.rounds > 0 ? Math.max(0, usefulSeconds(stage) - done) : 0;
  return { seconds, area: callArea(speeds, live.spec.ownPromptTokens, o), leastSeconds: before + seconds };
}

/** q of s(q, o): own prompt tokens actually computed. */
export function computedPrompt(request: RequestState): number {
  return Math.max(0, request.spec.ownPromptTokens - request.reusedTokens);
}

function meanPrompt(state: State, keys: readonly string[]): number {
  return blendedMean(
    state.profile,
    keys,
    (s) => s.calls,
    (s) => s.promptTokens,
    PRIOR.promptTokens,
    null,
  );
}

/** Area of a visit of which only the service was declared: one call on a prompt of the usual length. */
function areaOfService(state: State, stage: StageState, serviceSeconds: number): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  const prompt = meanPrompt(state, stage.keys);
  const q = p > 0 ? Math.min(prompt, serviceSeconds / p) : prompt;
  const o = h > 0 ? Math.max(0, serviceSeconds - p * q) / h : 0;
  return callArea(state.config.speeds, q, o);
}
