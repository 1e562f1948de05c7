import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { nodeOver } from "../graph/progress.ts";
import type { TaskState } from "../state.ts";
import type { View } from "../view.ts";

/** n_a(t): not-yet-ready stages per prefix whose unfinished predecessors are all running now. One hop, no further (algorithm 2.9). */
export function nearTermReuse(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  for (const task of view.state.tasks.values()) {
    if (task.live === 0 || task.done || task.failure !== null || task.graph === null) continue;
    for (const agent of nextAgents(task)) {
      const entry = view.state.agentPrefix.get(frameKey(task.tenant, agent));
      if (entry !== undefined) out.set(entry, (out.get(entry) ?? 0) + 1);
    }
  }
  return out;
}

function nextAgents(task: TaskState): string[] {
  const { nodes } = task.graph!;
  const runs = (id: string): boolean => task.stages.get(id)?.status === "running";
  const agents: string[] = [];
  nodes.forEach((node, index) => {
    if (nodeOver(task, index)) return;
    if (node.loop === null) {
      const stage = node.stages[0]!;
      const open = node.preds.filter((pred) => !nodeOver(task, pred));
      if (
        task.stages.get(stage.id)!.request === null &&
        open.length > 0 &&
        open.every((pred) => nodes[pred]!.stages.some((s) => runs(s.id)))
      )
        agents.push(stage.agent);
      return;
    }
    for (const stage of node.stages)
      if (task.stages.get(stage.id)!.request === null && node.loop.edges.some(([from, to]) => to === stage.id && runs(from)))
        agents.push(stage.agent);
  });
  return agents;
}

/** soon_a: uses of each prefix expected soon, waiting requests included (algorithm 2.9). */
export function soonUses(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  for (const request of view.state.waiting.values())
    if (request.prefix !== null) out.set(request.prefix, (out.get(request.prefix) ?? 0) + 1);
  return out;
}

/** steps_a: how many stages away the nearest use of each prefix is; absent: no use is known (algorithm 2.9). */
export function stepsToUse(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  for (const request of view.state.running.values()) if (request.prefix !== null) out.set(request.prefix, 1);
  for (const request of view.state.waiting.values()) if (request.prefix !== null) out.set(request.prefix, 0);
  return out;
}
