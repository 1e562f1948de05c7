import { toBlocks } from "../config.ts";
import type { Reserve } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

/**
 * q + min(max, max(o, y + 32)): the expected length, or what the receipt asks to reserve; never less than a short growth,
 * never more than can be generated (algorithm 2.7).
 */
export const mean: Reserve = {
  id: "mean",
  need: meanNeed,
  promised: (view, running) =>
    running.reduce((sum, request) => sum + Math.max(request.promisedTokens, meanNeed(view, request)), 0),
};

export function meanNeed(view: View, request: RequestState): number {
  return toBlocks(view.state.config, request.spec.ownPromptTokens + view.estimator.reservedOutputTokens(request));
}
