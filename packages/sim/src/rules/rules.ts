import type { HostTier } from "../model/transfer.ts";

/** Stock scheduling rules to copy (section 6). */
export type StockRulesId = "sglang-0.5.x" | "vllm-0.11" | "vllm-0.19";
/** oracle, joint: a core policy has full control of residency and of every call. */
export type RulesId = StockRulesId | "oracle" | "joint";

export interface SglangRules {
  readonly chunkTokens: number;
  readonly maxPrefillTokens: number;
  readonly maxRunning: number;
  /** schedule_policy. */
  readonly order: "fcfs" | "lpm";
  readonly conservativeness: number;
  /** What a retracted call does again: prefill prompt and output, or decode its output once more. */
  readonly redo: "prefill" | "decode";
}

export interface VllmRules {
  readonly batchTokens: number;
  readonly maxSequences: number;
  /** Rule 6.2.3: 0.19 admits only if the whole prompt fits now. */
  readonly reserveFullPrompt: boolean;
  /** Rule 6.2.5: freed blocks keep their hash. Off only to show that it matters. */
  readonly freedKeepHash: boolean;
}

export interface StockOptions {
  readonly hostTier: HostTier;
  readonly hostRatio: number;
}

/** Never lets a request ask for more than the pool can ever give (SGLang: max_req_len). */
export const POOL_MARGIN_TOKENS = 2;
