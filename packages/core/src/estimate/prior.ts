import { lognormalQuantile, normalBelow } from "./normal.ts";

/**
 * Built-in prior before any sample (algorithm 2.3): outputs lognormal with median 216 and sigma 1.15, mean 418 tokens; own
 * prompts of 500 tokens; rounds geometric with mean 1.5; calls of a task without a graph geometric with mean 1.5.
 */
export const PRIOR = {
  promptTokens: 500,
  outputTokens: 418,
  outputMedianTokens: 216,
  outputSigma: 1.15,
  rounds: 1.5,
  callsPerTask: 1.5,
} as const;

/** Smallest k with P(rounds <= k) >= u, for geometric rounds 1, 2, ... of this mean. */
export function geometricQuantile(mean: number, u: number): number {
  if (!(mean > 1)) return 1;
  return Math.max(1, Math.ceil(Math.log1p(-u) / Math.log1p(-1 / mean) - 1e-9));
}

/** Quantile u of the built-in output length, tokens. */
export function priorOutputTokens(u: number): number {
  return lognormalQuantile(PRIOR.outputMedianTokens, PRIOR.outputSigma, u);
}

/** Mixture of lognormals (weight, median seconds, sigma): tools answer at once or work for seconds; p50 0.07, mean 7.7 s. */
const TOOL_WAITS = [
  [0.6, 0.03, 0.8],
  [0.3, 4, 0.9],
  [0.08, 30, 0.8],
  [0.02, 90, 0.8],
] as const;

/** Mean of the built-in tool wait, seconds. */
export const PRIOR_WAIT_SECONDS = TOOL_WAITS.reduce(
  (sum, [w, median, sigma]) => sum + w * median * Math.exp((sigma * sigma) / 2),
  0,
);

/** Quantile u of the built-in tool wait, seconds; by bisection in the logarithm. */
export function priorWaitSeconds(u: number): number {
  let low = Math.log(1e-4);
  let high = Math.log(1e4);
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    const below = TOOL_WAITS.reduce((sum, [w, median, sigma]) => sum + w * normalBelow((middle - Math.log(median)) / sigma), 0);
    if (below < u) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}
