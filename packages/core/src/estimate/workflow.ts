import { trim } from "../bounded.ts";
import { frameKey } from "../frame-key.ts";
import type { Profile } from "./profile.ts";
import { PRIOR } from "./prior.ts";

/** What tasks of one workflow type did (algorithm 2.2, 2.8). counts[k]: tasks with exactly k. */
export interface WorkflowProfile {
  tasks: number;
  readonly calls: number[];
  /** Visits of the agent that made the first call: the leader of a supervisor loop. */
  readonly leads: number[];
  /** Means over tasks with at least two leader visits: longest path of the specialists between two of them, seconds. */
  phases: number;
  phaseSeconds: number;
  /** Agent-to-agent transitions, by agent name. */
  readonly moves: Map<string, Map<string, number>>;
}

const MOST_COUNTS = 256;
const MOST_AGENTS = 64;
const FULL_TRUST = 8;
const WINDOW = 512;

export function emptyWorkflow(): WorkflowProfile {
  return { tasks: 0, calls: [], leads: [], phases: 0, phaseSeconds: 0, moves: new Map() };
}

export function workflowFor(profile: Profile, tenant: string, workflow: string | null): WorkflowProfile {
  const key = frameKey(tenant, workflow ?? "");
  const seen = profile.workflows.get(key) ?? emptyWorkflow();
  profile.workflows.delete(key);
  profile.workflows.set(key, seen);
  trim(profile.workflows);
  return seen;
}

export function countAt(counts: number[], k: number): void {
  const at = Math.min(MOST_COUNTS, Math.max(0, Math.round(k)));
  while (counts.length <= at) counts.push(0);
  counts[at]! += 1;
}

export function observeMove(workflow: WorkflowProfile, from: string, to: string): void {
  const row = workflow.moves.get(from) ?? new Map<string, number>();
  row.set(to, (row.get(to) ?? 0) + 1);
  workflow.moves.set(from, row);
  trim(workflow.moves, MOST_AGENTS);
  trim(row, MOST_AGENTS);
}

export function observePhase(workflow: WorkflowProfile, seconds: number): void {
  if (!(seconds >= 0) || !Number.isFinite(seconds)) return;
  workflow.phases += 1;
  workflow.phaseSeconds += (seconds - workflow.phaseSeconds) / Math.min(workflow.phases, WINDOW);
}

/**
 * E[N - k | N >= k] from a histogram; fewer than 8 tasks that got so far are filled up with the built-in geometric one,
 * which has `mean` in all and always the same expectation ahead once begun.
 */
export function expectedMore(counts: readonly number[], k: number, mean: number = PRIOR.callsPerTask): number {
  let reached = 0;
  let more = 0;
  for (let n = Math.max(0, k); n < counts.length; n++) {
    reached += counts[n]!;
    more += counts[n]! * (n - k);
  }
  const fill = Math.max(0, FULL_TRUST - reached);
  const prior = k === 0 ? mean : mean - 1;
  return (more + fill * prior) / (reached + fill);
}

/** Tasks of this workflow that got as far as k. */
export function reachedCount(counts: readonly number[], k: number): number {
  let reached = 0;
  for (let n = Math.max(0, k); n < counts.length; n++) reached += counts[n]!;
  return reached;
}
