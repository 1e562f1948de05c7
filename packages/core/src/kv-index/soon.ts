import type { Estimator } from "../estimate/estimator.ts";
import { soonAgents } from "../estimate/reuse.ts";
import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import type { State, TaskState } from "../state.ts";

export const NOTHING_SOON: ReadonlyMap<EntryId, number> = new Map();

/** The part of soon_a that one task contributes beyond its waiting requests, by prefix (algorithm 2.9). */
export function taskSoon(state: State, task: TaskState, estimator: Estimator): ReadonlyMap<EntryId, number> {
  if (task.done || task.failure !== null) return NOTHING_SOON;
  const uses = soonAgents({ state, estimator }, task);
  if (uses.size === 0) return NOTHING_SOON;
  const out = new Map<EntryId, number>();
  for (const [agent, times] of uses) {
    const entry = state.agentPrefix.get(frameKey(task.tenant, agent));
    if (entry !== undefined && times > 0) out.set(entry, (out.get(entry) ?? 0) + times);
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
