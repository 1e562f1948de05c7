import type { CompiledGraph } from "../graph/compile.ts";
import { stageAhead } from "../graph/ahead.ts";
import type { TaskHints } from "../events.ts";
import type { StageState, State, TaskState } from "../state.ts";
import { frameKey } from "../frame-key.ts";
import { cacheOf } from "./cache.ts";
import { difficultyFactor, difficultyPosterior, spreadOf } from "./difficulty.ts";
import { normalQuantile } from "./normal.ts";
import type { EstimatorOptions } from "./options.ts";
import {
  drawResiduals,
  emptySet,
  firstAbove,
  meanAreaLeft,
  meanResidual,
  residualSupport,
  wholeArea,
  wholeSeconds,
  type LengthSet,
} from "./residual.ts";
import { shuffle } from "./shuffle.ts";
import { lengthsOf, usefulSeconds } from "./stage-lengths.ts";

/** What is believed of one task's stages, frozen per stage until that stage has an event (algorithm 2.5). By slot. */
export interface TaskLengths {
  /** `TaskState.revision` these were read at; -1: never. */
  revision: number;
  graph: CompiledGraph | null;
  slots: ReadonlyMap<string, number>;
  /** E[Z], E[X], E[A left], E[A]. */
  mean: Float64Array;
  whole: Float64Array;
  area: Float64Array;
  wholeArea: Float64Array;
  /** Joint samples of Z: row per slot. */
  rows: Float64Array;
  support: (Float64Array | null)[];
  /** What each row was drawn for. */
  attained: Float64Array;
  requests: (string | null | undefined)[];
  declared: (StageState["declared"] | undefined)[];
  hints: TaskHints | null;
  /** f_i, and the finished calls it knows; -1: never. */
  factor: number;
  factorCalls: number;
}

/** Tasks held at most, a few kB each; then all are read anew, so that idle ones among 100,000 do not fill memory. */
const MOST_TASKS = 32_768;

/** Reads a task, redrawing only the stages something happened to. One per state and options. */
export function createLengths(state: State, options: EstimatorOptions): (task: TaskState) => TaskLengths {
  const { estimate, samples, exactUpTo } = options;
  const name = `${estimate}|${samples}|${exactUpTo}`;
  const { lengths: kept } = cacheOf(state);
  let known = kept.get(name);
  if (known === undefined) {
    known = { byTask: new WeakMap(), entries: 0, scratch: scratchOf(samples) };
    kept.set(name, known);
  }
  const mine = known;

  return (task) => {
    let lengths = mine.byTask.get(task);
    if (lengths === undefined) {
      if (mine.entries >= MOST_TASKS) {
        mine.byTask = new WeakMap();
        mine.entries = 0;
      }
      lengths = emptyLengths();
      mine.byTask.set(task, lengths);
      mine.entries += 1;
    }
    if (lengths.revision !== task.revision) refresh(state, options, mine.scratch, task, lengths);
    return lengths;
  };
}

/** Storage that one refresh uses and the next overwrites. */
export interface Scratch {
  readonly set: LengthSet;
  readonly ranks: Uint16Array;
  readonly draws: Float64Array;
}

function scratchOf(samples: number): Scratch {
  return { set: emptySet(), ranks: new Uint16Array(samples), draws: new Float64Array(samples) };
}

const NONE = new Float64Array(0);

function emptyLengths(): TaskLengths {
  return {
    revision: -1,
    graph: null,
    slots: new Map(),
    mean: NONE,
    whole: NONE,
    area: NONE,
    wholeArea: NONE,
    rows: NONE,
    support: [],
    attained: NONE,
    requests: [],
    declared: [],
    hints: null,
    factor: 1,
    factorCalls: -1,
  };
}

function refresh(state: State, options: EstimatorOptions, scratch: Scratch, task: TaskState, lengths: TaskLengths): void {
  const redraw = believeDifficulty(state, options, scratch, task, lengths);
  const hinted = lengths.hints !== task.hints;
  lengths.hints = task.hints;
  layOut(task, lengths, options.samples);
  lengths.revision = task.revision;
  const correlated = options.estimate === "correlated";
  for (const stage of task.stages.values()) {
    const slot = lengths.slots.get(stage.id)!;
    const ahead = stageAhead(task, stage);
    const e = ahead === "over" ? Infinity : ahead === "fresh" ? 0 : usefulSeconds(stage);
    if (
      !redraw &&
      !(hinted && stage.request !== null) &&
      lengths.attained[slot] === e &&
      lengths.requests[slot] === stage.request &&
      lengths.declared[slot] === stage.declared
    )
      continue;
    lengths.attained[slot] = e;
    lengths.requests[slot] = stage.request;
    lengths.declared[slot] = stage.declared;
    believeStage(state, options, scratch, task, stage, lengths, slot, e, correlated);
  }
}

function believeStage(
  state: State,
  options: EstimatorOptions,
  { set: spare, ranks, draws }: Scratch,
  task: TaskState,
  stage: StageState,
  lengths: TaskLengths,
  slot: number,
  e: number,
  correlated: boolean,
): void {
  const { samples } = options;
  const least = state.config.speeds.decodeSecondsPerToken;
  const offset = slot * samples;
  const looped = task.graph !== null && task.loops.size > 0;
  if (e === Infinity && !looped) {
    lengths.mean[slot] = lengths.area[slot] = lengths.whole[slot] = lengths.wholeArea[slot] = 0;
    lengths.rows.fill(0, offset, offset + samples);
    lengths.support[slot] = ZERO;
    return;
  }
  let set = lengthsOf(spare, state, task, stage, lengths.factor, correlated);
  lengths.whole[slot] = wholeSeconds(set);
  lengths.wholeArea[slot] = wholeArea(set);
  if (e === Infinity) {
    lengths.mean[slot] = lengths.area[slot] = 0;
    lengths.rows.fill(0, offset, offset + samples);
    lengths.support[slot] = ZERO;
    return;
  }
  const begun = e > 0 || set.count === 0;
  const mean = begun ? meanResidual(set, e, least) : set.whole;
  lengths.mean[slot] = mean;
  lengths.area[slot] = begun ? meanAreaLeft(set, e, least) : set.wholeArea;
  if (correlated) set = lengthsOf(spare, state, task, stage, 1, true);
  shuffle(ranks, samples, task.id, stage.id);
  drawResiduals(lengths.rows, offset, samples, ranks, set, e, mean, correlated ? draws : null);
  lengths.support[slot] =
    correlated || options.exactUpTo === 0 ? null : residualSupport(set, firstAbove(set, e), e, options.exactUpTo, mean);
}

const ZERO = Float64Array.of(0, 1);

/** Slots for the stages of the graph in topological order, then for the others; rows of kept stages stay. */
function layOut(task: TaskState, lengths: TaskLengths, samples: number): void {
  const { graph, stages } = task;
  const known = lengths.slots.size === stages.size && lengths.graph === graph;
  if (known) {
    let same = true;
    for (const id of stages.keys()) same &&= lengths.slots.has(id);
    if (same) return;
  }
  const old = { ...lengths };
  let slots = graph?.topoIndex;
  if (slots === undefined || stages.size !== slots.size) {
    const mixed = new Map(slots ?? []);
    for (const id of stages.keys()) if (!mixed.has(id)) mixed.set(id, mixed.size);
    slots = mixed;
  }
  const count = slots.size;
  lengths.graph = graph;
  lengths.slots = slots;
  lengths.mean = new Float64Array(count);
  lengths.whole = new Float64Array(count);
  lengths.area = new Float64Array(count);
  lengths.wholeArea = new Float64Array(count);
  lengths.attained = new Float64Array(count).fill(-1);
  lengths.rows = new Float64Array(count * samples);
  lengths.support = Array.from({ length: count }, () => null);
  lengths.requests = Array.from({ length: count }, () => undefined);
  lengths.declared = Array.from({ length: count }, () => undefined);
  for (const [id, to] of slots) {
    const from = old.slots.get(id);
    if (from === undefined) continue;
    lengths.mean[to] = old.mean[from]!;
    lengths.whole[to] = old.whole[from]!;
    lengths.area[to] = old.area[from]!;
    lengths.wholeArea[to] = old.wholeArea[from]!;
    lengths.attained[to] = old.attained[from]!;
    lengths.rows.set(old.rows.subarray(from * samples, (from + 1) * samples), to * samples);
    lengths.support[to] = old.support[from]!;
    lengths.requests[to] = old.requests[from];
    lengths.declared[to] = old.declared[from];
  }
}

/** Refreshes f_i when the task has finished a call since; true when it moved, so that every stage has to be redrawn (2.6). */
function believeDifficulty(
  state: State,
  options: EstimatorOptions,
  { draws }: Scratch,
  task: TaskState,
  lengths: TaskLengths,
): boolean {
  if (options.estimate === "mean") return false;
  const spread = spreadOf(state.profile.difficulty.get(frameKey(task.tenant)));
  const { calls, logSum } = task.outcome;
  const moved = lengths.factorCalls !== calls;
  if (moved) {
    lengths.factor = spread === null ? 1 : difficultyFactor(calls, logSum, spread);
    lengths.factorCalls = calls;
  }
  if (options.estimate === "correlated") {
    if (spread === null) draws.fill(1);
    else {
      const { mean, variance } = difficultyPosterior(calls, logSum, spread);
      const sigma = Math.sqrt(variance);
      const count = draws.length;
      for (let m = 0; m < count; m++) draws[m] = Math.exp(mean + sigma * normalQuantile((m + 0.5) / count));
    }
  }
  return moved;
}
