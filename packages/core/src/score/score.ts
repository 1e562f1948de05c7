import type { Terms } from "../events.ts";

/** Score = J_admit - J_move - J_redo - J_revoke + V_reuse (Eq. 13), all in seconds. */
export function totalSeconds(terms: Terms): number {
  return terms.admit - terms.move - terms.redo - terms.revoke + terms.reuse;
}

/** What one unit of each kind of term counts for; 1 everywhere unless the score is normalised (topas-norm). */
export interface TermScales {
  readonly admit: number;
  /** move, redo and revoke. */
  readonly cost: number;
  readonly reuse: number;
}

/** Score with each term over its own running scale: admit/n_J - (move + redo + revoke)/n_C + reuse/n_V (algorithm 4.18). */
export function scaledScore(terms: Terms, scales: TermScales): number {
  return terms.admit / scales.admit - (terms.move + terms.redo + terms.revoke) / scales.cost + terms.reuse / scales.reuse;
}
