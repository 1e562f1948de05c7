import type { Estimator, RoundGain } from "../estimate/estimator.ts";
import type { StageState, TaskState } from "../state.ts";
import type { GraphNode } from "./compile.ts";
import { frontier, nodeOver } from "./progress.ts";

/** L_i(H) of one task, prepared once per decision. H = stages hypothetically completed. */
export interface TaskPath {
  /** Remaining path in seconds; never negative. */
  seconds(completed?: Completed): number;
  /** E[Z] of a stage, seconds; 0 for unknown stages. */
  residual(stage: string): number;
  /**
   * Delta(stage | H): what finishing it now takes off L, given `completed`; seconds, >= 0 (Eq. 6). `scope` call: only the
   * service of its live call is finished. Telescopes with `completed` in scope stage.
   */
  delta(stage: string, completed?: Completed, scope?: RoundGain): number;
}

/** Whether a stage counts as completed; undefined: none does. */
export type Completed = ((stage: string) => boolean) | undefined;

interface Part {
  readonly tail: number;
  own(completed: Completed): number;
}

/** Longest remaining path with means: exact for fixed lengths (Eq. 5). Loops count their expected rounds. */
export function taskPath(task: TaskState, estimator: Estimator): TaskPath {
  const residuals = new Map<string, number>();
  const residual = (stage: string): number => {
    let value = residuals.get(stage);
    if (value === undefined) {
      const known = task.stages.get(stage);
      value = known === undefined ? 0 : estimator.residualSeconds(task, known);
      residuals.set(stage, value);
    }
    return value;
  };
  const parts = [...graphParts(task, estimator, residual), ...virtualParts(task, estimator, residual)];
  let nothingCompleted: number | null = null;
  const idle = parts.length === 0 && task.graph === null && !task.done ? estimator.tailSeconds(task) : 0;
  const seconds = (completed?: Completed): number => {
    if (completed === undefined && nothingCompleted !== null) return nothingCompleted;
    let longest = idle;
    for (const part of parts) longest = Math.max(longest, part.own(completed) + part.tail);
    if (completed === undefined) nothingCompleted = longest;
    return longest;
  };
  return {
    residual,
    seconds,
    delta: (stage, completed) => Math.max(0, seconds(completed) - seconds((id) => id === stage || completed?.(id) === true)),
  };
}

function graphParts(task: TaskState, estimator: Estimator, residual: (stage: string) => number): Part[] {
  const graph = task.graph;
  if (graph === null || task.failure !== null || task.done) return [];
  const down: number[] = Array.from({ length: graph.nodes.length }, () => 0);
  const tails: number[] = Array.from({ length: graph.nodes.length }, () => 0);
  for (let index = graph.nodes.length - 1; index >= 0; index--) {
    const node = graph.nodes[index]!;
    let tail = 0;
    for (const next of node.succs) tail = Math.max(tail, down[next]!);
    tails[index] = tail;
    down[index] = tail + (nodeOver(task, index) ? 0 : nodeSeconds(task, index, node, estimator, residual, undefined));
  }
  return frontier(task).map((index) => ({
    tail: tails[index]!,
    own: (completed) => nodeSeconds(task, index, graph.nodes[index]!, estimator, residual, completed),
  }));
}

function nodeSeconds(
  task: TaskState,
  index: number,
  node: GraphNode,
  estimator: Estimator,
  residual: (stage: string) => number,
  completed: Completed,
): number {
  const first = node.stages[0]!.id;
  if (node.loop === null) return completed?.(first) === true ? 0 : residual(first);
  const loop = task.loops.get(index)!;
  const stages = node.stages.map((stage) => task.stages.get(stage.id)!);
  const body = longest(node, stages, (stage) => (stage.status === "skipped" ? 0 : estimator.stageSeconds(task, stage)));
  const round = loop.open
    ? longest(node, stages, (stage) =>
        loop.doneInRound.has(stage.id) || completed?.(stage.id) === true ? 0 : residual(stage.id),
      )
    : 0;
  const begun = loop.roundsDone + (loop.open ? 1 : 0);
  return round + expectedRounds(node.loop.max, node.loop.mean, begun) * body;
}

/**
 * Rounds still to begin. Below the mean: what is left of it. From the mean on, at least one more while the bound allows it,
 * since a loop that has not been seen to end goes on.
 */
function expectedRounds(max: number, mean: number, begun: number): number {
  return begun >= max ? 0 : Math.min(max - begun, Math.max(1, mean - begun));
}

function longest(node: GraphNode, stages: readonly StageState[], seconds: (stage: StageState) => number): number {
  const reach = stages.map(seconds);
  const own = [...reach];
  for (const [from, to] of node.loop!.forward) reach[to] = Math.max(reach[to]!, reach[from]! + own[to]!);
  return reach.reduce((a, b) => Math.max(a, b), 0);
}

function virtualParts(task: TaskState, estimator: Estimator, residual: (stage: string) => number): Part[] {
  const live = [...task.stages.values()].filter((stage) => stage.virtual && stage.request !== null);
  if (live.length === 0 || task.done) return [];
  const tail = task.graph === null ? estimator.tailSeconds(task) : 0;
  return live.map((stage) => ({ tail, own: (completed) => (completed?.(stage.id) === true ? 0 : residual(stage.id)) }));
}
