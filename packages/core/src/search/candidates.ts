import type { Policy, SearchResult } from "../policy/policy.ts";
import { scaledScore, type TermScales } from "../score/score.ts";
import type { View } from "../view.ts";
import { createEvaluator } from "./evaluate.ts";
import { createPacker } from "./greedy-pack.ts";
import { localSearch, type Weigh } from "./local-search.ts";
import { buildPool } from "./pool.ts";
import { createRanking, toScored } from "./ranking.ts";
import { scalesOf, spreadOf } from "./scales.ts";
import { createSetKeys, type SetKey } from "./set-key.ts";
import { victimsOf } from "./victims.ts";

/** A bound is cheap beside an evaluation; so many of them count as one towards the work cap. */
const BOUNDS_PER_EVALUATION = 16;

/**
 * Candidate prefix sets: all subsets while the pool is small, else single and paired additions and repairs from what is
 * resident now. Every set's plan is a candidate; doing nothing always is (algorithm 3.3). Sets whose optimistic bound cannot
 * reach the best two are not packed, which changes no result.
 */
export function searchSets(view: View, policy: Policy): SearchResult {
  const { options } = policy;
  const pool = buildPool(view, policy);
  const evaluator = createEvaluator(view, policy, pool);
  const victims = victimsOf(view, policy, pool);
  const packer = createPacker(view, options, pool, victims);
  const scales: TermScales = scalesOf(view.state, options);
  const spread = options.normalise ? spreadOf() : null;
  const bounded = !options.normalise && options.ageTerms === "admit" && evaluator.mostReuseSeconds < Infinity;

  const idleTerms = { admit: 0, move: 0, redo: 0, revoke: 0, reuse: evaluator.idleReuseSeconds };
  const noop = {
    terms: idleTerms,
    totalSeconds: scaledScore(idleTerms, scales),
    preempts: 0,
    loads: 0,
    plan: { admit: [], preempt: [] },
  };
  spread?.add(idleTerms);
  const ranking = createRanking(noop, view.running.length === 0);
  const keyOf = createSetKeys(pool.groups.length);
  const seen = new Map<SetKey, number>();
  let work = 0;
  const mostWork = options.maxEvaluations * BOUNDS_PER_EVALUATION;

  const weigh: Weigh = (set, beat) => {
    if (!packer.open(set)) return -Infinity;
    const key = keyOf(set);
    const known = seen.get(key);
    if (known !== undefined) return known;
    work += 1;
    const fixed = evaluator.mostReuseSeconds - packer.redoSeconds - packer.revokeSeconds;
    if (bounded && !(beat === -Infinity)) {
      const reach = fixed + packer.bound(-Infinity);
      if (reach < beat && !ranking.matters(reach)) return -Infinity;
    }
    work += BOUNDS_PER_EVALUATION;
    packer.fill();
    if (packer.count === 0 && packer.preempted === 0) {
      seen.set(key, -Infinity);
      return -Infinity;
    }
    const terms = evaluator.terms(packer, set);
    const totalSeconds = scaledScore(terms, scales);
    spread?.add(terms);
    seen.set(key, totalSeconds);
    if (ranking.matters(totalSeconds)) {
      const plan = evaluator.plan(packer, set);
      ranking.add({ terms, totalSeconds, preempts: packer.preempted, loads: evaluator.loads(packer), plan });
    }
    return totalSeconds;
  };
  const exhausted = (): boolean => work >= mostWork;

  const choices = pool.groups.filter((group) => group.prefix !== null).map((group) => group.index);
  if (options.sets === "one") weigh(new Uint8Array(pool.groups.length).fill(1), -Infinity);
  else if (choices.length <= options.enumerateUpTo) enumerate(pool.groups.length, choices, weigh, exhausted);
  else localSearch(pool, choices, weigh, exhausted);

  const { best, second, admitting } = ranking;
  return {
    best: toScored(best),
    noop: toScored(noop),
    runnerUp: second === null ? null : toScored(second),
    bestAdmitting: admitting === null ? null : toScored(admitting),
    truncated: exhausted(),
    ...(spread === null ? {} : { spread: spread.result() }),
  };
}

function enumerate(size: number, choices: readonly number[], weigh: Weigh, exhausted: () => boolean): void {
  const set = new Uint8Array(size);
  for (let bits = 0; bits < 2 ** choices.length && !exhausted(); bits++) {
    for (let i = 0; i < choices.length; i++) set[choices[i]!] = (bits >> i) & 1;
    weigh(set, Infinity);
  }
}
