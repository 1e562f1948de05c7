import { toBlocks, usableBudgetTokens, type CoreConfig } from "./config.ts";

export interface CallSize {
  readonly prefixTokens: number;
  readonly ownPromptTokens: number;
  readonly maxTokens: number;
}

export type Feasibility =
  | { readonly ok: true }
  | { readonly ok: false; readonly needTokens: number; readonly limitTokens: number };

/**
 * Whether a call can ever run; asked at arrival, so that an impossible call is refused and never queued (K26).
 * Needs l + q + 1 tokens within B and the context; engines that fail on overflow need l + q + maxTokens within both.
 */
export function feasible(config: CoreConfig, size: CallSize): Feasibility {
  const output = config.failsOnOverflow ? Math.max(1, size.maxTokens) : 1;
  const context = config.contextTokens ?? Infinity;
  const contextNeed = size.prefixTokens + size.ownPromptTokens + output;
  if (contextNeed > context) return { ok: false, needTokens: contextNeed, limitTokens: context };
  const budgetNeed = toBlocks(config, size.prefixTokens) + toBlocks(config, size.ownPromptTokens + output);
  const budget = usableBudgetTokens(config, config.budgetTokens);
  if (budgetNeed > budget) return { ok: false, needTokens: budgetNeed, limitTokens: budget };
  return { ok: true };
}
