import { count, type LoopState, type StageState, type StageStatus, type State, type TaskState } from "../state.ts";
import type { GraphNode } from "./compile.ts";

const OVER: ReadonlySet<StageStatus> = new Set(["done", "skipped", "failed"]);

/** Nothing of this node will run any more, as far as known. */
export function nodeOver(task: TaskState, index: number): boolean {
  const node = task.graph!.nodes[index]!;
  if (node.loop !== null) {
    const loop = task.loops.get(index)!;
    return loop.exited || node.stages.every((stage) => task.stages.get(stage.id)!.status === "skipped");
  }
  return OVER.has(task.stages.get(node.stages[0]!.id)!.status);
}

function nodeFailed(task: TaskState, node: GraphNode): boolean {
  return node.loop === null && task.stages.get(node.stages[0]!.id)!.status === "failed";
}

function nodeSkipped(task: TaskState, node: GraphNode): boolean {
  return node.stages.every((stage) => task.stages.get(stage.id)!.status === "skipped");
}

/** What the join rule says once every predecessor is over (K71). A skipped branch never makes a join fail; no rule means `all`. */
export function joinOutcome(task: TaskState, index: number): "waiting" | "ready" | "impossible" {
  const nodes = task.graph!.nodes;
  const node = nodes[index]!;
  const preds = node.preds.map((pred) => nodes[pred]!);
  if (node.join === "all" && preds.some((pred) => nodeFailed(task, pred))) return "impossible";
  if (!node.preds.every((pred) => nodeOver(task, pred))) return "waiting";
  if (node.join !== "any_success" || preds.length === 0) return "ready";
  return preds.some((pred) => !nodeFailed(task, pred) && !nodeSkipped(task, pred)) ||
    !preds.some((pred) => nodeFailed(task, pred))
    ? "ready"
    : "impossible";
}

/** Nodes that may run now: unfinished, every predecessor over, join rule satisfied (F_i). */
export function frontier(task: TaskState): number[] {
  if (task.graph === null || task.failure !== null) return [];
  const out: number[] = [];
  task.graph.nodes.forEach((_, index) => {
    if (!nodeOver(task, index) && joinOutcome(task, index) === "ready") out.push(index);
  });
  return out;
}

/** After any change: blocked stages whose join is satisfied become ready; an impossible join fails the task with a reason. */
export function refreshReadiness(task: TaskState): void {
  const graph = task.graph;
  if (graph === null) return;
  task.failure = null;
  graph.nodes.forEach((node, index) => {
    if (nodeOver(task, index)) return;
    const join = joinOutcome(task, index);
    if (join === "impossible") task.failure ??= `join of ${node.stages[0]!.id} cannot be met`;
    for (const { id } of node.stages) {
      const stage = task.stages.get(id)!;
      const entry = node.loop === null || node.loop.head === id;
      if (stage.status === "blocked" && join === "ready" && entry) stage.status = "ready";
      else if (stage.status === "ready" && join !== "ready" && stage.request === null) stage.status = "blocked";
    }
  });
}

/** Whether anything before this stage has a live call. */
export function predecessorsLive(task: TaskState, stage: string): boolean {
  const graph = task.graph;
  const start = graph?.nodeOf.get(stage);
  if (graph === null || start === undefined) return false;
  const stack = [...graph.nodes[start]!.preds];
  const seen = new Set(stack);
  while (stack.length > 0) {
    const node = graph.nodes[stack.pop()!]!;
    if (node.stages.some(({ id }) => task.stages.get(id)!.request !== null)) return true;
    for (const pred of node.preds)
      if (!seen.has(pred)) {
        seen.add(pred);
        stack.push(pred);
      }
  }
  return false;
}

/** A call of `stage` proves that everything before it is over; counts what our books held for running. */
export function finishPredecessors(state: State, task: TaskState, stage: string): void {
  const graph = task.graph;
  const start = graph?.nodeOf.get(stage);
  if (graph === null || start === undefined) return;
  const stack = [...graph.nodes[start]!.preds];
  const seen = new Set<number>();
  while (stack.length > 0) {
    const index = stack.pop()!;
    if (seen.has(index)) continue;
    seen.add(index);
    const node = graph.nodes[index]!;
    stack.push(...node.preds);
    if (nodeOver(task, index)) continue;
    for (const { id } of node.stages) {
      const before = task.stages.get(id)!;
      if (before.request !== null) count(state, "graphContradictions");
      if (!OVER.has(before.status)) before.status = "done";
    }
    const loop = task.loops.get(index);
    if (loop !== undefined) loop.exited = true;
  }
}

/** Books the start of a call inside a declared loop; an extra round beyond `max` is counted once and earns no path credit (K67). */
export function enterLoop(state: State, task: TaskState, stage: StageState): void {
  const at = loopAt(task, stage.id);
  if (at === null) return;
  const { node, loop } = at;
  const repeats = loop.open && (node.loop!.head === stage.id ? loop.doneInRound.size > 0 : loop.doneInRound.has(stage.id));
  if (repeats) closeRound(loop);
  if (!loop.open && loop.roundsDone >= node.loop!.max) {
    if (!loop.overrun) count(state, "loopOverruns");
    loop.overrun = true;
  }
  loop.open = true;
  loop.exited = loop.overrun;
}

/** Books the end of a visit inside a declared loop. */
export function leaveLoopStage(task: TaskState, stage: StageState): void {
  const at = loopAt(task, stage.id);
  if (at === null) return;
  const { node, loop } = at;
  loop.doneInRound.add(stage.id);
  if (node.loop!.tails.includes(stage.id)) closeRound(loop);
  if (loop.roundsDone >= node.loop!.max && !loop.open) loop.exited = true;
}

function closeRound(loop: LoopState): void {
  loop.roundsDone += 1;
  loop.open = false;
  loop.doneInRound.clear();
}

function loopAt(task: TaskState, stage: string): { node: GraphNode; loop: LoopState } | null {
  const index = task.graph?.nodeOf.get(stage);
  const loop = index === undefined ? undefined : task.loops.get(index);
  return loop === undefined ? null : { node: task.graph!.nodes[index!]!, loop };
}
