import { toBlocks } from "../config.ts";
import { outputLimitTokens } from "../estimate/estimator.ts";
import type { Reserve } from "../policy/policy.ts";
import { generatedTokens, type RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** q + min(max, max(o, y + 32)): the expected length, never less than a short growth, never more than can be generated (algorithm 2.7). */
export const mean: Reserve = {
  id: "mean",
  need: meanNeed,
  promised: (view, running) =>
    running.reduce((sum, request) => sum + Math.max(request.promisedTokens, meanNeed(view, request)), 0),
};

export function meanNeed(view: View, request: RequestState): number {
  const expected = Math.max(view.estimator.expectedOutputTokens(request), generatedTokens(request) + 32);
  const output = Math.min(outputLimitTokens(request), expected);
  return toBlocks(view.state.config, request.spec.ownPromptTokens + output);
}
