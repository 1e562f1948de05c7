import { toBlocks } from "../config.ts";
import { outputLimitTokens } from "../estimate/estimator.ts";
import type { Reserve } from "../policy/policy.ts";

/** q + maxTokens: for engines that end or fail a call when they run out of KV. */
export const full: Reserve = {
  id: "full",
  need: (view, request) => toBlocks(view.state.config, request.spec.ownPromptTokens + outputLimitTokens(request)),
  promised: (view, running) =>
    running.reduce(
      (sum, request) =>
        sum +
        Math.max(request.promisedTokens, toBlocks(view.state.config, request.spec.ownPromptTokens + outputLimitTokens(request))),
      0,
    ),
};
