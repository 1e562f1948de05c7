import type { EstimatorOptions } from "../estimate/options.ts";
import type { TaskLengths } from "../estimate/task-lengths.ts";
import type { TaskState } from "../state.ts";
import { stageAhead } from "./ahead.ts";
import type { GraphNode } from "./compile.ts";
import { jointSamples, type JointSamples } from "./joint-samples.ts";
import { frontier, nodeOver } from "./progress.ts";

/** The open ends of one task: what each frontier node has before it, sample by sample. Only they can be in H (2.5). */
export interface JointPath {
  revision: number;
  readonly joint: JointSamples;
  readonly parts: readonly Part[];
  /** Stage of each slot that may be completed. */
  readonly names: ReadonlyMap<number, string>;
  /** L when nothing at all is in sight: the expected rest of a task between two calls, seconds. */
  readonly idleSeconds: number;
}

export interface Part {
  /** Rows of `joint.values` that may be completed, by position in the round for a loop. */
  readonly slots: readonly number[];
  /** Edges of the round, forward; null: a single stage. */
  readonly forward: readonly (readonly [from: number, to: number])[] | null;
  /** Everything behind the current round, per sample, seconds. */
  readonly behind: Float64Array;
  /** Storage of one question about a loop, by position. */
  readonly reach: Float64Array;
}

const NO_REACH = new Float64Array(0);

/** Longest remaining paths behind every frontier node; O(samples * (stages + edges)), once per event of the task. */
export function buildJointPath(task: TaskState, lengths: TaskLengths, tailSeconds: number, options: EstimatorOptions): JointPath {
  const joint = jointSamples(lengths, options);
  const parts: Part[] = [];
  if (!task.done && task.failure === null) graphParts(task, lengths, joint, parts);
  if (!task.done) virtualParts(task, lengths, joint, task.graph === null ? tailSeconds : 0, parts);
  const idle = parts.length === 0 && task.graph === null && !task.done ? tailSeconds : 0;
  return {
    revision: lengths.revision,
    joint,
    parts,
    names: namesOf(parts, lengths),
    idleSeconds: idle,
  };
}

function namesOf(parts: readonly Part[], lengths: TaskLengths): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  for (const part of parts) for (const slot of part.slots) if (slot >= 0) names.set(slot, "");
  for (const [id, slot] of lengths.slots) if (names.has(slot)) names.set(slot, id);
  return names;
}

function graphParts(task: TaskState, lengths: TaskLengths, joint: JointSamples, parts: Part[]): void {
  const { graph } = task;
  if (graph === null) return;
  const { nodes } = graph;
  const { count } = joint;
  const down: (Float64Array | undefined)[] = [];
  const open = new Set(frontier(task));
  for (let index = nodes.length - 1; index >= 0; index--) {
    const node = nodes[index]!;
    const behind = new Float64Array(count);
    for (const next of node.succs) {
      const row = down[next]!;
      for (let m = 0; m < count; m++) if (row[m]! > behind[m]!) behind[m] = row[m]!;
    }
    if (nodeOver(task, index)) {
      down[index] = behind;
      continue;
    }
    const part = partOf(task, index, node, lengths, behind);
    if (open.has(index)) parts.push(part);
    const own = new Float64Array(count);
    for (let m = 0; m < count; m++) own[m] = partSeconds(part, joint, m, NOTHING);
    down[index] = own;
  }
}

function partOf(task: TaskState, index: number, node: GraphNode, lengths: TaskLengths, behind: Float64Array): Part {
  if (node.loop === null) return { slots: [lengths.slots.get(node.stages[0]!.id)!], forward: null, behind, reach: NO_REACH };
  const loop = task.loops.get(index)!;
  const skipped = (id: string): boolean => task.stages.get(id)!.status === "skipped";
  const body = longest(
    node.loop.forward,
    node.stages.map(({ id }) => (skipped(id) ? 0 : lengths.whole[lengths.slots.get(id)!]!)),
  );
  const begun = loop.roundsDone + (loop.open ? 1 : 0);
  const extra = expectedRounds(node.loop.max, node.loop.mean, begun) * body;
  for (let m = 0; m < behind.length; m++) behind[m]! += extra;
  const slots = node.stages.map(({ id }) =>
    loop.open && !loop.doneInRound.has(id) && stageAhead(task, task.stages.get(id)!) !== "over" ? lengths.slots.get(id)! : -1,
  );
  return { slots, forward: node.loop.forward, behind, reach: new Float64Array(slots.length) };
}

/**
 * Rounds still to begin. Below the mean: what is left of it. From the mean on, at least one more while the bound allows it,
 * since a loop that has not been seen to end goes on.
 */
function expectedRounds(max: number, mean: number, begun: number): number {
  return begun >= max ? 0 : Math.min(max - begun, Math.max(1, mean - begun));
}

function longest(forward: readonly (readonly [number, number])[], own: readonly number[]): number {
  const reach = [...own];
  for (const [from, to] of forward) reach[to] = Math.max(reach[to]!, reach[from]! + own[to]!);
  return reach.reduce((a, b) => Math.max(a, b), 0);
}

function virtualParts(task: TaskState, lengths: TaskLengths, joint: JointSamples, tail: number, parts: Part[]): void {
  for (const stage of task.stages.values()) {
    if (!stage.virtual || stage.request === null) continue;
    const behind = new Float64Array(joint.count).fill(tail);
    parts.push({ slots: [lengths.slots.get(stage.id)!], forward: null, behind, reach: NO_REACH });
  }
}

/** How much of each slot counts as finished: nothing, all of it, or at most so many seconds. */
export interface Finished {
  readonly wholly: ((slot: number) => boolean) | null;
  readonly slot: number;
  readonly upToSeconds: number;
}

export const NOTHING: Finished = { wholly: null, slot: -1, upToSeconds: 0 };

function leftSeconds(joint: JointSamples, slot: number, m: number, finished: Finished): number {
  if (slot < 0) return 0;
  if (finished.wholly?.(slot) === true) return 0;
  const z = joint.values[slot * joint.count + m]!;
  return slot === finished.slot ? Math.max(0, z - finished.upToSeconds) : z;
}

/** Seconds of sample m from this part to the end of the task. */
export function partSeconds(part: Part, joint: JointSamples, m: number, finished: Finished): number {
  const { slots, forward, behind, reach: at } = part;
  if (forward === null) return behind[m]! + leftSeconds(joint, slots[0]!, m, finished);
  for (let i = 0; i < slots.length; i++) at[i] = leftSeconds(joint, slots[i]!, m, finished);
  let most = 0;
  for (const [from, to] of forward) {
    const through = at[from]! + leftSeconds(joint, slots[to]!, m, finished);
    if (through > at[to]!) at[to] = through;
  }
  for (let i = 0; i < slots.length; i++) if (at[i]! > most) most = at[i]!;
  return behind[m]! + most;
}
