import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { nodeOver } from "../graph/progress.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { View } from "../view.ts";

/**
 * n_a(t) over the running set: not-yet-ready stages per prefix whose unfinished predecessors are all running (Eq. 11, algorithm
 * 2.9). One hop: only tasks with a running call count, so the cost is O(running), whatever waits.
 */
export function nearTermUse(view: View, running: readonly RequestState[] = view.running): ReadonlyMap<EntryId, number> {
  const stages = new Map<TaskState, Set<string>>();
  for (const request of running) {
    const task = view.state.tasks.get(request.spec.task);
    if (task === undefined || task.graph === null || task.done || task.failure !== null) continue;
    const known = stages.get(task);
    if (known === undefined) stages.set(task, new Set([request.spec.stage]));
    else known.add(request.spec.stage);
  }
  const out = new Map<EntryId, number>();
  for (const [task, runs] of stages)
    for (const agent of nextAgents(task, runs)) {
      const entry = view.state.agentPrefix.get(frameKey(task.tenant, agent));
      if (entry !== undefined) out.set(entry, (out.get(entry) ?? 0) + 1);
    }
  return out;
}

function nextAgents(task: TaskState, runs: ReadonlySet<string>): string[] {
  const { nodes } = task.graph!;
  const agents: string[] = [];
  const idle = (id: string): boolean => task.stages.get(id)!.request === null;
  const nodeRuns = (index: number): boolean => nodes[index]!.stages.some((stage) => runs.has(stage.id));
  nodes.forEach((node, index) => {
    if (node.loop !== null) {
      if (nodeOver(task, index)) return;
      for (const stage of node.stages)
        if (idle(stage.id) && node.loop.edges.some(([from, to]) => to === stage.id && runs.has(from))) agents.push(stage.agent);
      return;
    }
    const stage = node.stages[0]!;
    if (!node.preds.some(nodeRuns) || !idle(stage.id) || nodeOver(task, index)) return;
    if (node.preds.every((pred) => nodeRuns(pred) || nodeOver(task, pred))) agents.push(stage.agent);
  });
  return agents;
}
