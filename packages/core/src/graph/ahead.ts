import type { StageState, TaskState } from "../state.ts";

/**
 * What a stage still is: over for good, about to be visited afresh in the open round of its loop, or under way or not begun.
 * A round past the declared bound counts as over: it is served, but earns nothing (case K67).
 */
export function stageAhead(task: TaskState, stage: StageState): "over" | "fresh" | "open" {
  if (task.loops.size > 0 && stageOverran(task, stage)) return "over";
  if (stage.status !== "done" && stage.status !== "skipped" && stage.status !== "failed") return "open";
  if (stage.status !== "done") return "over";
  const index = task.graph?.nodeOf.get(stage.id);
  const loop = index === undefined ? undefined : task.loops.get(index);
  return loop !== undefined && loop.open && !loop.exited && !loop.doneInRound.has(stage.id) ? "fresh" : "over";
}

/** Whether a declared loop of the task has passed its bound: from then on age carries it no further (K68). */
export function overran(task: TaskState): boolean {
  for (const loop of task.loops.values()) if (loop.overrun) return true;
  return false;
}

function stageOverran(task: TaskState, stage: StageState): boolean {
  const index = task.graph?.nodeOf.get(stage.id);
  return index !== undefined && task.loops.get(index)?.overrun === true;
}
