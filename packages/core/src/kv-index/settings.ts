import type { Truth } from "../policy/baseline-options.ts";
import type { SearchOptions } from "../policy/policy.ts";

/** Knobs of the index, beside those that every policy has. */
export interface IndexOptions {
  /** Weight of age: a task dt older outranks an R-fold better one once dt > (H/kappa) * ln R. */
  readonly kappa: number;
  /** Declining a further prefix: never, by its share of own area, or by charging the slots it takes (algorithm 5.2). */
  readonly decline: "off" | "share" | "slots";
  /** share: below this part of own area a new prefix waits. */
  readonly declineBelow: number;
  /** share: until its oldest request has waited this many times the longest service of the group. */
  readonly declineHold: number;
  /** A request that has waited longer heads the order, seconds; null: never. */
  readonly maxWaitSeconds: number | null;
}

export const INDEX_DEFAULTS: IndexOptions = {
  kappa: 2,
  decline: "off",
  declineBelow: 0.3,
  declineHold: 1,
  maxWaitSeconds: null,
};

/** Everything that makes one index differ from another. */
export interface IndexSettings extends IndexOptions {
  /** Outputs as the profiles say, or scaled by the task's difficulty (algorithm 2.6). */
  readonly difficulty: SearchOptions["difficulty"];
  /** True sizes instead of estimates: experiments only. */
  readonly truth: Truth | null;
}

export const SETTINGS_DEFAULTS: IndexSettings = { ...INDEX_DEFAULTS, difficulty: "mean", truth: null };
