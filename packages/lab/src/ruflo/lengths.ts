import type { Rng } from "@topas/sim";

/** Coefficient of variation of output lengths within a stage. */
export const LENGTH_CV = 0.5;
const SIGMA = Math.sqrt(Math.log(1 + LENGTH_CV * LENGTH_CV));
const LEAST_TOKENS = 4;
/** `max_tokens` over the mean: loose, as clients set it. */
export const LIMIT_FACTOR = 4;

export function limitOf(meanTokens: number): number {
  return LIMIT_FACTOR * meanTokens;
}

/** Lognormal with this mean, within the call's limit. */
export function drawLength(meanTokens: number, rng: Rng): number {
  const drawn = Math.round(rng.lognormal(meanTokens * Math.exp((-SIGMA * SIGMA) / 2), SIGMA));
  return Math.min(limitOf(meanTokens), Math.max(LEAST_TOKENS, drawn));
}

/** Rounds of a loop: each is the last one with this probability, and `LOOP.max` is a hard cap. */
const LAST_ROUND = 1 / 3;
const MAX_ROUNDS = 6;
export const LOOP = { max: MAX_ROUNDS, mean: (1 - (1 - LAST_ROUND) ** MAX_ROUNDS) / LAST_ROUND } as const;

export function drawRounds(rng: Rng): number {
  let rounds = 1;
  while (rounds < MAX_ROUNDS && rng.float() >= LAST_ROUND) rounds += 1;
  return rounds;
}

/** Tool waits: median seconds and the sigma of their logarithm; at most {@link WAIT.mostSeconds}. */
export const WAIT = { medianSeconds: 0.25, sigma: 0.7, mostSeconds: 3 } as const;

export function drawWaitMs(rng: Rng): number {
  return Math.round(1_000 * Math.min(WAIT.mostSeconds, rng.lognormal(WAIT.medianSeconds, WAIT.sigma)));
}
