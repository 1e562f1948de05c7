import type { Rng } from "@topas/sim";
import { ratioOfMeans, type Pair } from "./bootstrap.ts";

const EXACT_UP_TO = 12;

/**
 * Two-sided paired permutation test of "the policies are exchangeable": each seed's two figures may be swapped. Exact up to
 * twelve seeds; above, `draws` seeded swaps with the observed one counted in. With n seeds p cannot fall below 2 / 2^n.
 */
export function permutationP(pairs: readonly Pair[], rng: Rng, draws = 4_000): number {
  const n = pairs.length;
  if (n === 0) return 1;
  const seen = distance(pairs);
  const reaches = (swap: (i: number) => boolean): boolean =>
    distance(pairs.map(([a, b], i): Pair => (swap(i) ? [b, a] : [a, b]))) >= seen - 1e-12;
  let hits = 0;
  if (n <= EXACT_UP_TO) {
    for (let mask = 0; mask < 2 ** n; mask++) if (reaches((i) => ((mask >> i) & 1) === 1)) hits += 1;
    return hits / 2 ** n;
  }
  for (let draw = 0; draw < draws; draw++) if (reaches(() => rng.float() < 0.5)) hits += 1;
  return (hits + 1) / (draws + 1);
}

function distance(pairs: readonly Pair[]): number {
  return Math.abs(Math.log(ratioOfMeans(pairs)));
}
