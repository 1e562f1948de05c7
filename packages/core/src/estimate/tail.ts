import { frameKey } from "../frame-key.ts";
import type { State, TaskState } from "../state.ts";
import { callArea, callSeconds } from "./area.ts";
import { blendedMean } from "./blend.ts";
import { nonNegative } from "./stage-lengths.ts";
import { PRIOR } from "./prior.ts";
import { DECLARED_WEIGHT, FULL_TRUST } from "./profile.ts";
import { ringSize } from "./ring.ts";
import { expectedMore, reachedCount } from "./workflow.ts";

/** What is still to come of a task whose structure was never declared (algorithm 2.8). */
export interface Tail {
  /** Calls still expected. */
  readonly calls: number;
  /** T_i, seconds, along the longest path. */
  readonly seconds: number;
  /** Service of all of them, seconds. */
  readonly workSeconds: number;
  readonly areaTokenSeconds: number;
}

/**
 * Supervisor loops (the workflow's first agent comes back at least twice on average): leader visits still expected, times
 * (mean leader call + longest specialist path between two of them). Else calls still expected times the mean call.
 */
export function learnedTail(state: State, task: TaskState, factor: number): Tail {
  const workflow = state.profile.workflows.get(frameKey(task.tenant, task.workflow ?? ""));
  const calls = expectedMore(workflow?.calls ?? [], task.callsStarted);
  const { seconds, area } = meanCall(state, [frameKey(task.tenant)], factor);
  const all = { calls, workSeconds: calls * seconds, areaTokenSeconds: calls * area };
  const lead = task.lead;
  if (workflow === undefined || lead === null || workflow.tasks < FULL_TRUST || workflow.phases < FULL_TRUST)
    return { ...all, seconds: calls * seconds };
  const visits = workflow.leads.reduce((sum, tasks, n) => sum + tasks * n, 0) / workflow.tasks;
  if (visits < 2) return { ...all, seconds: calls * seconds };
  const more = expectedMore(workflow.leads, lead.visits, visits);
  const leader = meanCall(state, [frameKey(task.tenant, lead.agent), frameKey(task.tenant)], factor);
  const path = more * (leader.seconds + workflow.phaseSeconds * factor);
  return { ...all, seconds: path, workSeconds: Math.max(all.workSeconds, path) };
}

/** T_i with a declared remaining path blended in: 4 pseudo-samples against the tasks seen to get this far (2.3). */
export function tailSeconds(state: State, task: TaskState, factor: number, liveSeconds: number): number {
  const learned = learnedTail(state, task, factor).seconds;
  const hinted = nonNegative(task.hints.remainingPathSeconds);
  if (hinted === null) return learned;
  const declared = Math.max(0, hinted - (task.attainedSeconds - task.hintAttainedSeconds) - liveSeconds);
  const seen = state.profile.workflows.get(frameKey(task.tenant, task.workflow ?? ""));
  const n = reachedCount(seen?.calls ?? [], task.callsStarted);
  return (n * learned + DECLARED_WEIGHT * declared) / (n + DECLARED_WEIGHT);
}

/** Mean service and area of one call of a key, area from the last 512 (q, o), cold start as everywhere. */
function meanCall(state: State, keys: readonly string[], factor: number): { seconds: number; area: number } {
  const { speeds } = state.config;
  const mean = (of: "promptTokens" | "outputTokens"): number =>
    blendedMean(
      state.profile,
      keys,
      (s) => s.calls,
      (s) => s[of],
      PRIOR[of],
      null,
    );
  const q = mean("promptTokens");
  const o = mean("outputTokens") * factor;
  const ring = keys[0] === undefined ? undefined : state.profile.stats.get(keys[0])?.callRing;
  const n = ring === undefined ? 0 : ringSize(ring);
  let area = 0;
  for (let k = 0; k < n; k++) area += callArea(speeds, ring!.data[2 * k]!, ring!.data[2 * k + 1]! * factor);
  const fill = Math.max(0, FULL_TRUST - n);
  const spread = Math.exp(PRIOR.outputSigma ** 2) - 1;
  const prior = callArea(speeds, q, o) + (speeds.decodeSecondsPerToken * o * o * spread) / 2;
  return { seconds: callSeconds(speeds, q, o), area: (area + fill * prior) / (n + fill) };
}
