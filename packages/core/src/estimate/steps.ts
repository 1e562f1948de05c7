import { nodeOver } from "../graph/progress.ts";
import type { StageState, TaskState } from "../state.ts";

/**
 * steps(v) per agent of one task (KVFlow): waiting 0, running or in a tool 1, else 1 + the most over unfinished predecessors,
 * for a join that one branch satisfies the least (algorithm 2.9).
 */
export function stepsAhead(task: TaskState): Map<string, number> {
  const out = new Map<string, number>();
  const nearest = (agent: string, steps: number): void => {
    if (steps < (out.get(agent) ?? Infinity)) out.set(agent, steps);
  };
  if (task.graph === null) {
    for (const stage of task.stages.values()) if (stage.request !== null) nearest(stage.agent, liveSteps(stage));
    return out;
  }
  const { nodes } = task.graph;
  const steps: number[] = [];
  nodes.forEach((node, index) => {
    if (nodeOver(task, index)) {
      steps.push(-1);
      return;
    }
    const before = node.preds.filter((pred) => steps[pred]! >= 0).map((pred) => steps[pred]!);
    const start = before.length === 0 ? 0 : 1 + (node.join === "any_success" ? Math.min(...before) : Math.max(...before));
    let last = start;
    node.stages.forEach((declared, position) => {
      const stage = task.stages.get(declared.id)!;
      const at = stage.request !== null || stage.status === "toolWait" ? liveSteps(stage) : start + position;
      nearest(declared.agent, at);
      last = Math.max(last, at);
    });
    steps.push(last);
  });
  return out;
}

function liveSteps(stage: StageState): number {
  return stage.status === "running" || stage.status === "toolWait" ? 1 : 0;
}
