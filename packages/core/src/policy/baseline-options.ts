import type { RequestSpec } from "../events.ts";
import type { IndexOptions } from "../kv-index/settings.ts";
import type { PolicyOptions } from "./policy.ts";

/** Knobs of the baselines, beside those that every policy has. */
export interface BaselineOptions {
  /** lpm-age: matched tokens one pass in the queue is worth (N). */
  readonly tokensPerPass: number;
  /** lpm-age-s: matched tokens one second of task age is worth (alpha). */
  readonly tokensPerSecond: number;
  /** fcfs: where a preempted request goes; SGLang: tail, vLLM: head. */
  readonly requeue: "head" | "tail";
  /** plas, atlas: wait over service from which a program is in class 0. */
  readonly starvedRatio: number;
  /** ttl-fixed: seconds a session is kept, and the mean tool wait up to which it is kept at all. */
  readonly ttlSeconds: number;
  /** downstream-gate: ready requests an agent needs to be served (theta). */
  readonly gateRequests: number;
  /** static-partition: share of B whose prefixes stay, and the smallest quota of an agent in tokens. */
  readonly pinnedShare: number;
  readonly smallestQuotaTokens: number;
  /** pause-resume: seconds after which a paused program heads the queue. */
  readonly forcedResumeSeconds: number;
  /** router: decisions looked back on, and as many must agree before it switches. */
  readonly routerWindow: number;
  /** router: below this share of contended decisions: fcfs-o. */
  readonly routerContention: number;
  /** router: below this share of repeated agents, with a host tier or little prefix: srpt-w-age-o. */
  readonly routerReuse: number;
  /** router: active prefix tokens / B that count as little. */
  readonly routerPrefixShare: number;
  readonly routerArm: "topas" | "topas-guarded" | "kv-index-safe";
  /** Search and index policies: off, or lpm-task with this fit while they cannot be trusted. */
  readonly fallback: "off" | "over" | "guarded";
  /** Own samples below which an agent is unknown. */
  readonly fallbackSamples: number;
  /** Share of truncated searches above which the search is not trusted. */
  readonly fallbackTruncated: number;
  /** Mean relative error of expected outputs above which estimates are not trusted; null: no limit. */
  readonly fallbackError: number | null;
  /** What really will happen; experiments only. Without it the oracles believe the estimator. */
  readonly truth: Truth | null;
}

/** Clairvoyance for experiments. null: not known, the estimate stands. */
export interface Truth {
  /** Output tokens the call will have in all. */
  outputTokens(request: RequestSpec): number | null;
  /** W_i: KV area the task still needs, token-seconds. */
  remainingAreaTokenSeconds(task: string): number | null;
  /** L_i: remaining path of the task, seconds. */
  remainingPathSeconds(task: string): number | null;
  /** Instant of the next use of an entry, seconds; Infinity: never. */
  nextUseSeconds(entry: string): number | null;
}

export type AllOptions = PolicyOptions & BaselineOptions & IndexOptions;

export const BASELINE_DEFAULTS: BaselineOptions = {
  tokensPerPass: 256,
  tokensPerSecond: 10,
  requeue: "head",
  starvedRatio: 16,
  ttlSeconds: 2,
  gateRequests: 2,
  pinnedShare: 0.5,
  smallestQuotaTokens: 3_500,
  forcedResumeSeconds: 1_800,
  routerWindow: 64,
  routerContention: 0.1,
  routerReuse: 0.2,
  routerPrefixShare: 0.5,
  routerArm: "topas",
  fallback: "off",
  fallbackSamples: 8,
  fallbackTruncated: 0.01,
  fallbackError: null,
  truth: null,
};
