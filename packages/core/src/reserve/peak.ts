import { toBlocks } from "../config.ts";
import type { Reserve } from "../policy/policy.ts";
import { dynamicTokens, generatedTokens } from "../state.ts";
import { meanNeed } from "./mean.ts";

/**
 * Peak of the predicted profile (algorithm 5.5): what ends early has given its cells back before the next peak. Newcomers pay
 * in full; a running call for which the receipt asked for more than is expected keeps that much.
 */
export const peak: Reserve = {
  id: "peak",
  need: meanNeed,
  promised(view, running) {
    const { estimator } = view;
    const profile = running.map((request) => ({
      left: Math.max(estimator.remainingTokens(request), estimator.reservedOutputTokens(request) - generatedTokens(request)),
      held: dynamicTokens(request),
    }));
    return toBlocks(view.state.config, peakTokens(profile));
  },
};

/** max over k of (number with x_j >= x_k) * x_k + sum of their d_j; at least the sum of d (vector V16). */
export function peakTokens(running: readonly { readonly left: number; readonly held: number }[]): number {
  const sorted = running.toSorted((a, b) => b.left - a.left);
  let held = 0;
  let highest = 0;
  sorted.forEach(({ left, held: own }, index) => {
    held += own;
    highest = Math.max(highest, (index + 1) * left + held);
  });
  return Math.max(highest, held);
}
