import type { Estimator } from "../estimate/estimator.ts";
import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { frontier, nodeOver } from "../graph/progress.ts";
import type { StageState, State, TaskState } from "../state.ts";

export const NOTHING_SOON: ReadonlyMap<EntryId, number> = new Map();

/**
 * The part of soon_a one task contributes beyond its waiting requests (algorithm 2.9): per frontier stage 1 to its own
 * prefix in a tool wait; else c to its own and (1 - c)/openPreds to that of each successor.
 */
export function taskSoon(state: State, task: TaskState, estimator: Estimator): ReadonlyMap<EntryId, number> {
  if (task.done || task.failure !== null) return NOTHING_SOON;
  const out = new Map<EntryId, number>();
  const add = (agent: string, uses: number): void => {
    const entry = state.agentPrefix.get(frameKey(task.tenant, agent));
    if (entry !== undefined && uses > 0) out.set(entry, (out.get(entry) ?? 0) + uses);
  };
  const again = (stage: StageState): number => {
    if (stage.status === "toolWait") {
      add(stage.agent, 1);
      return 1;
    }
    if (stage.request === null) return 0;
    const c = estimator.anotherRoundProbability(task, stage);
    add(stage.agent, c);
    return c;
  };
  for (const stage of task.stages.values()) if (stage.virtual) again(stage);
  if (task.graph === null) return out;
  const { nodes } = task.graph;
  for (const at of frontier(task)) {
    const node = nodes[at]!;
    let leaves = 1;
    for (const { id } of node.stages) leaves = Math.min(leaves, 1 - again(task.stages.get(id)!));
    if (!(leaves > 0)) continue;
    for (const next of node.succs) {
      const open = nodes[next]!.preds.filter((pred) => !nodeOver(task, pred)).length;
      for (const stage of nodes[next]!.stages.slice(0, 1)) add(stage.agent, leaves / Math.max(1, open));
    }
  }
  return out;
}

/** 95th percentile of the waits its agents' tools have shown, over the stages in a tool wait, seconds (algorithm 5.6). */
export function patienceSeconds(task: TaskState, estimator: Estimator): number {
  let longest = 0;
  for (const stage of task.stages.values())
    if (stage.status === "toolWait") longest = Math.max(longest, estimator.toolWaitQuantile(task.tenant, stage.agent, 0.95));
  return longest;
}
