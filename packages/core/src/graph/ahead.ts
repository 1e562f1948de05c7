import type { StageState, TaskState } from "../state.ts";

/** What a stage still is: over for good, about to be visited afresh in the open round of its loop, or under way or not begun. */
export function stageAhead(task: TaskState, stage: StageState): "over" | "fresh" | "open" {
  if (stage.status !== "done" && stage.status !== "skipped" && stage.status !== "failed") return "open";
  if (stage.status !== "done") return "over";
  const index = task.graph?.nodeOf.get(stage.id);
  const loop = index === undefined ? undefined : task.loops.get(index);
  return loop !== undefined && loop.open && !loop.exited && !loop.doneInRound.has(stage.id) ? "fresh" : "over";
}
