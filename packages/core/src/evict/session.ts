import { copySeconds } from "../estimate/cost.ts";
import type { EntryState, StageState, State, TaskState } from "../state.ts";
import type { View } from "../view.ts";

/** Task and stage a session belongs to: the stage of its task that waits for a tool, else the one with most rounds; null: none lives. */
export function sessionStage(state: State, entry: EntryState): { task: TaskState; stage: StageState } | null {
  const task = entry.task === null ? undefined : state.tasks.get(entry.task);
  if (task === undefined || task.done) return null;
  let found: StageState | null = null;
  for (const stage of task.stages.values()) {
    if (stage.status === "toolWait" && found?.status !== "toolWait") found = stage;
    else if (found === null || (found.status !== "toolWait" && stage.rounds > found.rounds)) found = stage;
  }
  return found === null ? null : { task, stage: found };
}

/** Waits seen after calls of the session's agent, ascending, seconds. */
export function waitsOf(view: View, entry: EntryState): readonly number[] {
  const owner = sessionStage(view.state, entry);
  return owner === null ? [] : [...view.estimator.toolWaits(owner.task.tenant, owner.stage.agent)];
}

/** Sessions that a waiting request is about to continue. */
export function wantedSessions(view: View): ReadonlySet<EntryState> {
  const wanted = new Set<EntryState>();
  for (const request of view.state.waiting.values()) {
    const session = view.sessionOf(request);
    if (session !== null) wanted.add(session);
  }
  return wanted;
}

/** p x tokens, seconds: computing it again. */
export function rebuildSeconds(view: View, entry: EntryState): number {
  const compute = view.state.config.speeds.prefillSecondsPerToken * entry.tokens;
  if (!Number.isFinite(compute)) return 0;
  return entry.kind === "prefix" && entry.onHost
    ? Math.min(compute, copySeconds(view.state.config.speeds, entry.tokens))
    : compute;
}

/** Share of B that is pinned, promised or not yet free again, within [0, 1]; 0 when B is unknown. */
export function useShare(view: View): number {
  const { budgetTokens, pinned, promised, pendingFree } = view.state.ledger;
  if (budgetTokens === null || !(budgetTokens > 0) || !Number.isFinite(budgetTokens)) return 0;
  return Math.min(1, Math.max(0, (pinned + promised + pendingFree) / budgetTokens));
}
