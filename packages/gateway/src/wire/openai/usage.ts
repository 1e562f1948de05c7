import type { CallUsage } from "@topas/engines";

export interface OpenAiUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
}

/** Unknown stays absent: no invented 0 (K52). Cached tokens count inside the prompt, as OpenAI has it (K53). */
export function toOpenAiUsage(
  usage: CallUsage,
  seen: { readonly promptTokens: number; readonly completionTokens: number },
): OpenAiUsage {
  const prompt = usage.promptTokens ?? seen.promptTokens;
  const completion = usage.completionTokens ?? seen.completionTokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(usage.cachedTokens === null ? {} : { prompt_tokens_details: { cached_tokens: usage.cachedTokens } }),
  };
}
