/** What the engine can hold and how fast it is. Plain data; every speed is a reference speed, frozen while the engine lives. */
export interface CoreConfig {
  /** B in tokens. null: unknown, so only run slots limit admission and the physical ledger is not kept. */
  readonly budgetTokens: number | null;
  /** Sizes are rounded up to whole blocks per entry. */
  readonly blockTokens: number;
  /** Run slots. `Infinity` when the engine names none. */
  readonly maxRunning: number;
  readonly contextTokens: number | null;
  readonly speeds: Speeds;
  /** True: an evicted prefix may keep a copy in host memory. */
  readonly hostTier: boolean;
  /** What a preempted request loses. `unknown` is billed like `redecode`, the dearest. */
  readonly redo: "swap" | "reprefill" | "redecode" | "unknown";
  /** True: the engine ends or fails a call when it runs out of KV, so promises cover `maxTokens` in full. */
  readonly failsOnOverflow: boolean;
  /** Tokens of B never promised to anyone. */
  readonly headroomTokens: number;
}

export interface Speeds {
  /** p, seconds per prompt token computed. */
  readonly prefillSecondsPerToken: number;
  /** h, seconds per generated token (also T_decode of Eq. 9). */
  readonly decodeSecondsPerToken: number;
  /** mu. */
  readonly kvBytesPerToken: number;
  /** B_swap, host to device and back. */
  readonly copyBytesPerSecond: number;
}

/** Rounds a token count up to whole blocks; never negative, never NaN. */
export function toBlocks(config: CoreConfig, tokens: number): number {
  if (!(tokens > 0)) return 0;
  const block = Math.max(1, config.blockTokens);
  return Math.ceil(tokens / block) * block;
}

/** B usable for promises: whole blocks less headroom; Infinity when unknown. */
export function usableBudgetTokens(config: CoreConfig, budgetTokens: number | null): number {
  if (budgetTokens === null) return Infinity;
  const block = Math.max(1, config.blockTokens);
  return Math.max(0, Math.floor((budgetTokens - config.headroomTokens) / block) * block);
}
