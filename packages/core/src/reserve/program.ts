import { toBlocks } from "../config.ts";
import { outputLimitTokens } from "../estimate/estimator.ts";
import type { Reserve } from "../policy/policy.ts";
import { generatedTokens, type RequestState } from "../state.ts";
import type { View } from "../view.ts";

const BUFFER_TOKENS = 100;

/** Program tokens of ThunderAgent: what the call has so far and 100 more, never past its own limit. Acting programs count 0. */
export const program: Reserve = {
  id: "program",
  need: programTokens,
  promised: (view, running) =>
    running.reduce((sum, request) => sum + Math.max(request.promisedTokens, programTokens(view, request)), 0),
};

function programTokens(view: View, request: RequestState): number {
  const output = Math.min(outputLimitTokens(request), generatedTokens(request) + BUFFER_TOKENS);
  return toBlocks(view.state.config, request.spec.ownPromptTokens + output);
}
