import { cover, physicalOf } from "../evict/cover.ts";
import { nearTermReuse } from "../estimate/reuse.ts";
import type { Plan, Policy, ScoredPlan, SearchResult } from "../policy/policy.ts";
import { scorePlan } from "../score/score.ts";
import type { View } from "../view.ts";
import { greedyPack } from "./greedy-pack.ts";
import { buildPool, type Pool } from "./pool.ts";

/**
 * Candidate prefix sets: all subsets while the pool is small, else single and paired additions and repairs from what is
 * resident now. Every evaluated set's plan is a candidate; doing nothing always is (algorithm 3.3).
 */
export function searchSets(view: View, policy: Policy): SearchResult {
  const pool = buildPool(view, policy);
  const physical = physicalOf(view, policy.evict.values(view));
  const reuse = nearTermReuse(view);
  const score = (plan: Plan): ScoredPlan => scorePlan(view, policy, plan, cover(view, plan, physical), reuse);
  const noop = score({ admit: [], preempt: [] });
  const seen = new Map<string, ScoredPlan | null>();
  const found: ScoredPlan[] = [noop];
  let truncated = false;

  const evaluate = (kept: ReadonlySet<number>): ScoredPlan | null => {
    const key = [...kept].toSorted((a, b) => a - b).join(",");
    const known = seen.get(key);
    if (known !== undefined) return known;
    if (seen.size >= policy.options.maxEvaluations) {
      truncated = true;
      return null;
    }
    const plan = greedyPack(view, policy, pool, kept);
    const scored = plan === null || (plan.admit.length === 0 && plan.preempt.length === 0) ? null : score(plan);
    seen.set(key, scored);
    if (scored !== null) found.push(scored);
    return scored;
  };

  const choices = pool.groups.filter((group) => group.prefix !== null).map((group) => group.index);
  if (choices.length <= policy.options.enumerateUpTo) {
    for (let bits = 0; bits < 2 ** choices.length; bits++) evaluate(new Set(choices.filter((_, i) => (bits >> i) & 1)));
  } else localSearch(pool, choices, evaluate);

  found.sort(compareCandidates);
  const best = found[0]!;
  return {
    best,
    noop,
    runnerUp: found[1] ?? null,
    bestAdmitting: found.find((candidate) => candidate.admit.length > 0) ?? null,
    truncated,
  };
}

/** Start from what is resident; best single addition, else best pair, while it improves; then deletions and replacements. */
function localSearch(pool: Pool, choices: readonly number[], evaluate: (kept: ReadonlySet<number>) => ScoredPlan | null): void {
  const resident = choices.filter((index) => {
    const { prefix, running } = pool.groups[index]!;
    return running.length > 0 || prefix!.phase === "resident" || prefix!.phase === "loading";
  });
  let current: ReadonlySet<number> = new Set(resident);
  let value = evaluate(current)?.totalSeconds ?? -Infinity;
  const climb = (moves: readonly ReadonlySet<number>[]): boolean => {
    let best: ReadonlySet<number> | null = null;
    for (const move of moves) {
      const total = evaluate(move)?.totalSeconds ?? -Infinity;
      if (total > value + 1e-9) {
        value = total;
        best = move;
      }
    }
    if (best !== null) current = best;
    return best !== null;
  };
  const outside = (): number[] => choices.filter((index) => !current.has(index) && pool.groups[index]!.heads.length > 0);
  const withAll = (...added: readonly number[]): ReadonlySet<number> => new Set([...current, ...added]);
  const without = (gone: number, ...added: readonly number[]): ReadonlySet<number> =>
    new Set([...[...current].filter((index) => index !== gone), ...added]);

  for (;;) {
    const single = outside().map((index) => withAll(index));
    if (climb(single)) continue;
    const out = outside();
    if (!climb(out.flatMap((a, i) => out.slice(i + 1).map((b) => withAll(a, b))))) break;
  }
  for (;;) {
    const inside = [...current];
    const moves = inside.flatMap((gone) => [without(gone), ...outside().map((added) => without(gone, added))]);
    if (!climb(moves)) break;
  }
}

/** Higher score; ties: fewer preempts, fewer loads (by move cost), more admissions, lexicographic ids. */
function compareCandidates(a: ScoredPlan, b: ScoredPlan): number {
  return (
    nanoseconds(b.totalSeconds) - nanoseconds(a.totalSeconds) ||
    a.preempt.length - b.preempt.length ||
    a.loads - b.loads ||
    b.admit.length - a.admit.length ||
    compareText(planKey(a), planKey(b))
  );
}

/** Scores that differ by less than a nanosecond are ties: sums in another order may differ in the last bit. */
function nanoseconds(seconds: number): number {
  return Math.round(seconds * 1e9);
}

function planKey(plan: Plan): string {
  return plan.admit.map((admission) => admission.request.spec.id).join("\n");
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
