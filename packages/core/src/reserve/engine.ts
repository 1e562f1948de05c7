import { toBlocks } from "../config.ts";
import { outputLimitTokens } from "../estimate/estimator.ts";
import { historyOf, RATIO } from "../history.ts";
import type { Reserve } from "../policy/policy.ts";
import { dynamicTokens, generatedTokens } from "../state.ts";
import type { View } from "../view.ts";

/** SGLang clips the growth it reserves at this many tokens. */
export const CLIP_TOKENS = 4_096;

/**
 * SGLang's admission reserve: a newcomer q + min(max, 4096); a running call what it holds + min(max - y, 4096) x ratio. The
 * ratio falls from 0.7 to 0.098 over 600 decode steps and starts again when the engine was idle.
 */
export const engine: Reserve = {
  id: "engine",
  need: (view, request) => {
    const left = Math.max(0, outputLimitTokens(request) - generatedTokens(request));
    return toBlocks(view.state.config, dynamicTokens(request) + Math.min(left, CLIP_TOKENS));
  },
  promised(view, running) {
    const ratio = newTokenRatio(view);
    return running.reduce((sum, request) => {
      const left = Math.max(0, outputLimitTokens(request) - generatedTokens(request));
      return sum + toBlocks(view.state.config, dynamicTokens(request) + Math.min(left, CLIP_TOKENS) * ratio);
    }, 0);
  },
};

/** Without a history: decode steps since idle are the most tokens any running call has generated. */
export function newTokenRatio(view: View): number {
  const history = historyOf(view.state);
  if (history !== null) return history.reserveRatio;
  const steps = view.running.reduce((most, request) => Math.max(most, request.decodedTokens), 0);
  return Math.max(RATIO.end, RATIO.start - ((RATIO.start - RATIO.end) / RATIO.steps) * steps);
}
