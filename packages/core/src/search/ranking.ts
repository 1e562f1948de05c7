import type { Terms } from "../events.ts";
import type { Plan, ScoredPlan } from "../policy/policy.ts";

/** A candidate while the search goes on: its score and ties; the plan is built only for what may be reported. */
export interface Candidate {
  readonly terms: Terms;
  readonly totalSeconds: number;
  readonly preempts: number;
  readonly loads: number;
  readonly plan: Plan;
}

/** The best, the second best and the best that admits something, among all candidates seen. */
export interface Ranking {
  best: Candidate;
  second: Candidate | null;
  admitting: Candidate | null;
  /** Whether a candidate of this score could still be one of the three. */
  matters(totalSeconds: number): boolean;
  add(candidate: Candidate): void;
}

export function createRanking(noop: Candidate, engineIdle: boolean): Ranking {
  const ranking: Ranking = {
    best: noop,
    second: null,
    admitting: null,
    matters(totalSeconds) {
      const { second, admitting } = ranking;
      if (second === null || (engineIdle && admitting === null)) return true;
      const bar = engineIdle ? Math.min(second.totalSeconds, admitting!.totalSeconds) : second.totalSeconds;
      return totalSeconds >= bar - SLACK_SECONDS;
    },
    add(candidate) {
      if (candidate.plan.admit.length > 0 && (ranking.admitting === null || compare(candidate, ranking.admitting) < 0))
        ranking.admitting = candidate;
      const first = compare(candidate, ranking.best);
      if (first < 0) {
        ranking.second = ranking.best;
        ranking.best = candidate;
      } else if (first > 0 && (ranking.second === null || compare(candidate, ranking.second) < 0)) ranking.second = candidate;
    },
  };
  return ranking;
}

export function toScored({ plan, terms, totalSeconds, loads }: Candidate): ScoredPlan {
  return { ...plan, terms, totalSeconds, loads };
}

/** Scores that differ by less than a nanosecond are ties: sums in another order may differ in the last bit. */
const SLACK_SECONDS = 2e-9;

/** Higher score; ties: fewer preempts, fewer loads, more admissions, lexicographic ids. 0: the same plan. */
function compare(a: Candidate, b: Candidate): number {
  return (
    Math.round(b.totalSeconds * 1e9) - Math.round(a.totalSeconds * 1e9) ||
    a.preempts - b.preempts ||
    a.loads - b.loads ||
    b.plan.admit.length - a.plan.admit.length ||
    compareText(planKey(a.plan), planKey(b.plan))
  );
}

function planKey(plan: Plan): string {
  const ids = plan.admit.map(({ request }) => request.spec.id);
  return [...ids, "", ...plan.preempt.map((request) => request.spec.id)].join("\n");
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
