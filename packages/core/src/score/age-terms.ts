import type { Terms } from "../events.ts";

/** Symmetric aging: all five terms times the mean g_i of the tasks touched (topas-sym-age); 1 when none is. */
export function ageAll(terms: Terms, factor: number): Terms {
  return {
    admit: terms.admit * factor,
    move: terms.move * factor,
    redo: terms.redo * factor,
    revoke: terms.revoke * factor,
    reuse: terms.reuse * factor,
  };
}

export function meanAge(ages: readonly number[]): number {
  return ages.length === 0 ? 1 : ages.reduce((sum, age) => sum + age, 0) / ages.length;
}
