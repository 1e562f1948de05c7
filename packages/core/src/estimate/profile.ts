import { trim } from "../bounded.ts";
import { frameKey } from "../frame-key.ts";

/** Running means of one (tenant, agent, stage) or one of its parents. */
export interface ProfileStats {
  calls: number;
  promptTokens: number;
  outputTokens: number;
  stages: number;
  serviceSeconds: number;
  rounds: number;
}

/** What has been learned, as plain data. Keys are length-framed. */
export interface Profile {
  readonly stats: Map<string, ProfileStats>;
  /** Calls per finished task, by frameKey(tenant, workflow). */
  readonly callsPerTask: Map<string, { tasks: number; mean: number }>;
}

/** Built-in prior before any sample (algorithm 2.3): lognormal outputs of mean 418, own prompts of 500, 1.5 rounds. */
export const PRIOR = { promptTokens: 500, outputTokens: 418, rounds: 1.5, callsPerTask: 1.5 } as const;

/** Samples after which an own mean stands alone. */
export const FULL_TRUST = 8;
/** Pseudo-samples that one declared estimate is worth. */
export const DECLARED_WEIGHT = 4;
const WINDOW = 512;

export function emptyProfile(): Profile {
  return { stats: new Map(), callsPerTask: new Map() };
}

/** Own key first, then its parents: (tenant, agent, stage), (tenant, agent), (tenant). */
export function profileKeys(tenant: string, agent: string, stage: string): readonly [string, string, string] {
  return [frameKey(tenant, agent, stage), frameKey(tenant, agent), frameKey(tenant)];
}

function statsFor(profile: Profile, key: string): ProfileStats {
  let stats = profile.stats.get(key);
  if (stats === undefined) {
    stats = { calls: 0, promptTokens: 0, outputTokens: 0, stages: 0, serviceSeconds: 0, rounds: 0 };
    profile.stats.set(key, stats);
    trim(profile.stats);
  }
  return stats;
}

function moveMean(mean: number, samples: number, value: number): number {
  return mean + (value - mean) / Math.min(samples, WINDOW);
}

export function observeCall(profile: Profile, keys: readonly string[], promptTokens: number, outputTokens: number): void {
  for (const key of keys) {
    const stats = statsFor(profile, key);
    stats.calls += 1;
    stats.promptTokens = moveMean(stats.promptTokens, stats.calls, promptTokens);
    stats.outputTokens = moveMean(stats.outputTokens, stats.calls, outputTokens);
  }
}

export function observeStage(profile: Profile, keys: readonly string[], serviceSeconds: number, rounds: number): void {
  for (const key of keys) {
    const stats = statsFor(profile, key);
    stats.stages += 1;
    stats.serviceSeconds = moveMean(stats.serviceSeconds, stats.stages, serviceSeconds);
    stats.rounds = moveMean(stats.rounds, stats.stages, rounds);
  }
}

export function observeTask(profile: Profile, tenant: string, workflow: string | null, calls: number): void {
  const key = frameKey(tenant, workflow ?? "");
  const seen = profile.callsPerTask.get(key) ?? { tasks: 0, mean: 0 };
  seen.tasks += 1;
  seen.mean = moveMean(seen.mean, seen.tasks, calls);
  profile.callsPerTask.set(key, seen);
  trim(profile.callsPerTask);
}

/**
 * Mean with cold start: fewer than 8 own samples are filled up with pseudo-samples of the parent, or, when something was
 * declared, with 4 pseudo-samples of the declared value instead.
 */
export function blendedMean(
  profile: Profile,
  keys: readonly string[],
  samples: (stats: ProfileStats) => number,
  mean: (stats: ProfileStats) => number,
  prior: number,
  declared: number | null,
): number {
  let parent = prior;
  for (let level = keys.length - 1; level >= 1; level--) parent = mix(profile, keys[level]!, samples, mean, parent);
  const own = keys[0] === undefined ? undefined : profile.stats.get(keys[0]);
  const n = own === undefined ? 0 : samples(own);
  if (declared !== null) return ((own === undefined ? 0 : mean(own)) * n + declared * DECLARED_WEIGHT) / (n + DECLARED_WEIGHT);
  return keys[0] === undefined ? parent : mix(profile, keys[0], samples, mean, parent);
}

function mix(
  profile: Profile,
  key: string,
  samples: (stats: ProfileStats) => number,
  mean: (stats: ProfileStats) => number,
  parent: number,
): number {
  const stats = profile.stats.get(key);
  if (stats === undefined) return parent;
  const n = samples(stats);
  const fill = Math.max(0, FULL_TRUST - n);
  return n + fill === 0 ? parent : (n * mean(stats) + fill * parent) / (n + fill);
}
