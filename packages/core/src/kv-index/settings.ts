import type { TaskState, RequestState } from "../state.ts";

/** What makes one index differ from another. Plain data but for the oracle's `truth`. */
export interface IndexSettings {
  /** Weight of age: a task dt older outranks an R-fold better one once dt > (H/kappa) * ln R. */
  readonly kappa: number;
  /** Outputs as the profiles say, or scaled by the task's difficulty (algorithm 2.6). */
  readonly difficulty: "mean" | "posterior" | "correlated";
  /** Declining a further prefix (algorithm 5.2). */
  readonly decline: "off" | "share" | "slots";
  /** share: below this part of own area a new prefix waits. */
  readonly declineBelow: number;
  /** share: until its oldest request has waited this many times the longest service of the group. */
  readonly declineHold: number;
  /** A request that has waited longer heads the order; null: never. Seconds. */
  readonly maxWaitSeconds: number | null;
  /** Experiments only (oracle-index): true sizes instead of estimates. */
  readonly truth: Truth | null;
}

/** What an oracle knows; null where it does not. */
export interface Truth {
  /** Output tokens the call will have in all. */
  outputTokens(request: RequestState): number | null;
  /** W_i: remaining KV area of the task, token-seconds. */
  remainingAreaTokenSeconds(task: TaskState): number | null;
}

export const INDEX_DEFAULTS: IndexSettings = {
  kappa: 2,
  difficulty: "mean",
  decline: "off",
  declineBelow: 0.3,
  declineHold: 1,
  maxWaitSeconds: null,
  truth: null,
};
