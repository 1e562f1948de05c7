import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import type { GraphNode } from "../graph/compile.ts";
import { nodeOver } from "../graph/progress.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { View } from "../view.ts";

const perView = new WeakMap<View, ReadonlyMap<EntryId, number>>();

/**
 * n_a(t) over the running set: not-yet-ready stages per prefix whose unfinished predecessors are all running (Eq. 11, algorithm
 * 2.9). One hop: only tasks with a running call count, so the cost is O(running), whatever waits. Worked out once per view.
 * A task without a graph counts what its receipt forecasts for the prefix it runs on.
 */
export function nearTermReuse(view: View): ReadonlyMap<EntryId, number> {
  let known = perView.get(view);
  if (known === undefined) perView.set(view, (known = nearTermReuseOf(view, view.running)));
  return known;
}

/** The same as if exactly these requests were running. */
export function nearTermReuseOf(view: View, running: readonly RequestState[]): ReadonlyMap<EntryId, number> {
  const stages = new Map<TaskState, Set<string>>();
  const out = new Map<EntryId, number>();
  for (const request of running) {
    const task = view.state.tasks.get(request.spec.task);
    if (task === undefined || task.done || task.failure !== null) continue;
    const known = stages.get(task);
    if (known !== undefined) known.add(request.spec.stage);
    else {
      stages.set(task, new Set([request.spec.stage]));
      const hinted = task.graph === null ? task.hints.nearTermReuse : undefined;
      if (hinted !== undefined) addUses(out, request.prefix, hinted);
    }
  }
  for (const [task, runs] of stages) if (task.graph !== null) addNextUses(view, task, runs, out);
  return out;
}

/** One more use for each agent whose stage comes next, loops included. */
function addNextUses(view: View, task: TaskState, runs: ReadonlySet<string>, out: Map<EntryId, number>): void {
  const { nodes } = task.graph!;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index]!;
    if (node.loop !== null) {
      if (nodeOver(task, index)) continue;
      for (const stage of node.stages)
        if (idle(task, stage.id) && node.loop.edges.some(([from, to]) => to === stage.id && runs.has(from)))
          addUse(view, task, stage.agent, out);
      continue;
    }
    const stage = node.stages[0]!;
    let waits = false;
    let blocked = false;
    for (const pred of node.preds) {
      if (nodeRuns(nodes[pred]!, runs)) waits = true;
      else if (!nodeOver(task, pred)) blocked = true;
    }
    if (waits && !blocked && idle(task, stage.id) && !nodeOver(task, index)) addUse(view, task, stage.agent, out);
  }
}

function idle(task: TaskState, stage: string): boolean {
  return task.stages.get(stage)!.request === null;
}

function nodeRuns(node: GraphNode, runs: ReadonlySet<string>): boolean {
  for (const stage of node.stages) if (runs.has(stage.id)) return true;
  return false;
}

function addUse(view: View, task: TaskState, agent: string, out: Map<EntryId, number>): void {
  addUses(out, view.state.agentPrefix.get(frameKey(task.tenant, agent)) ?? null, 1);
}

function addUses(out: Map<EntryId, number>, entry: EntryId | null, uses: number): void {
  if (entry !== null && uses > 0) out.set(entry, (out.get(entry) ?? 0) + uses);
}
