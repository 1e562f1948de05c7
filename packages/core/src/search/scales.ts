import type { Terms } from "../events.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import type { TermScales } from "../score/score.ts";
import type { State } from "../state.ts";

const UNIT: TermScales = { admit: 1, cost: 1, reuse: 1 };
/** Weight of the newest decision in the moving means. */
const WEIGHT = 0.01;

/** Running scales of the terms, at least 1 s each; 1 unless the score is normalised (algorithm 4.18). */
export function scalesOf(state: State, options: PolicyOptions): TermScales {
  const seen = options.normalise ? state.termScales : undefined;
  if (seen === undefined) return UNIT;
  return { admit: Math.max(1, seen.admit), cost: Math.max(1, seen.cost), reuse: Math.max(1, seen.reuse) };
}

/** Moving mean (0.99) of the spread that each decision saw; the first one starts it. */
export function moveScales(seen: TermScales | undefined, spread: TermScales): TermScales {
  if (seen === undefined) return spread;
  const move = (mean: number, value: number): number => mean + WEIGHT * (value - mean);
  return { admit: move(seen.admit, spread.admit), cost: move(seen.cost, spread.cost), reuse: move(seen.reuse, spread.reuse) };
}

/** 95th less 5th percentile of each kind of term over the candidates of one decision, seconds. */
export function spreadOf(): { add(terms: Terms): void; result(): TermScales } {
  const admit: number[] = [];
  const cost: number[] = [];
  const reuse: number[] = [];
  return {
    add(terms) {
      admit.push(terms.admit);
      cost.push(terms.move + terms.redo + terms.revoke);
      reuse.push(terms.reuse);
    },
    result: () => ({ admit: range(admit), cost: range(cost), reuse: range(reuse) }),
  };
}

function range(values: number[]): number {
  values.sort((a, b) => a - b);
  const at = (q: number): number => values[Math.min(values.length - 1, Math.floor(q * values.length))] ?? 0;
  return at(0.95) - at(0.05);
}
