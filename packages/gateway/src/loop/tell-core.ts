import type { Loop } from "../loop.ts";
import type { Scheduler } from "../scheduler.ts";
import type { OpenTask } from "./task-book.ts";

export type TaskIdentity = Parameters<Scheduler["receipt"]>[0];

/** Endings remembered of one task, so that none is told twice. */
const MOST_ENDED = 10_000;

/** What the orchestrator says of its task, told to the scheduler when it is news. Returns the open task. */
export function tellTask(loop: Loop, identity: TaskIdentity, now: number): OpenTask {
  const { task, isNew } = loop.tasks.touch(identity.task, identity.tenant, now);
  const { graph, hints, tenant, workflow } = identity;
  if (isNew) {
    loop.apply({
      kind: "taskArrived",
      at: now,
      task: { id: task.id, tenant, workflow, arrivalSeconds: now - identity.ageSeconds },
    });
  }
  if (graph !== null && graph !== task.graph) {
    task.graph = graph;
    loop.apply({ kind: "graphRevealed", at: now, task: task.id, graph });
  }
  if (hints !== null) loop.apply({ kind: "receiptUpdated", at: now, task: task.id, stage: identity.stage, hints });
  for (const { stage, state } of identity.ended ?? []) {
    if (task.ended.has(stage) || task.ended.size >= MOST_ENDED) continue;
    task.ended.add(stage);
    loop.apply({ kind: state === "done" ? "stageDone" : "stageSkipped", at: now, task: task.id, stage });
  }
  if (identity.final) task.final = true;
  return task;
}
