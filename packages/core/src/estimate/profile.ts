import { MOST_KEYS, trim } from "../bounded.ts";
import { frameKey } from "../frame-key.ts";
import type { DifficultySums } from "./difficulty.ts";
import { patchRing, pushRing, emptyRing, type Ring } from "./ring.ts";
import type { WorkflowProfile } from "./workflow.ts";

/** What is known of one (tenant, agent, stage) or one of its parents (algorithm 2.2). */
export interface ProfileStats {
  calls: number;
  /** Moving means over at most 512 calls or stages. */
  promptTokens: number;
  outputTokens: number;
  stages: number;
  serviceSeconds: number;
  rounds: number;
  /** Per call: prompt tokens computed, output tokens. */
  readonly callRing: Ring;
  /** Per finished stage: the numbers of `STAGE`. */
  readonly stageRing: Ring;
  /** roundCounts[k]: stages that ended after exactly k rounds. */
  readonly roundCounts: number[];
}

/** Fields of one stage record: five sums over its rounds, so that any speeds and any factor give service and area (2.2). */
export const STAGE = { prompt: 0, output: 1, promptOutput: 2, output2: 3, prompt2: 4, rounds: 5, factor: 6 } as const;
export const STAGE_STRIDE = 7;

/** What has been learned, as plain data. Keys are length-framed names; no prompt text, no ids of tasks. */
export interface Profile {
  readonly stats: Map<string, ProfileStats>;
  /** By frameKey(tenant, workflow). */
  readonly workflows: Map<string, WorkflowProfile>;
  /** Waits between two calls of one stage, seconds, by frameKey(tenant, agent or tool). */
  readonly waits: Map<string, Ring>;
  /** Variance components of the difficulty model, by frameKey(tenant) (2.6). */
  readonly difficulty: Map<string, DifficultySums>;
  /** Numbers held by all rings together. */
  numbers: number;
}

export { PRIOR } from "./prior.ts";

/** Samples after which an own profile stands alone. */
export const FULL_TRUST = 8;
/** Pseudo-samples that one declared estimate is worth. */
export const DECLARED_WEIGHT = 4;
/** Numbers all rings may hold together (8 bytes each); beyond it the keys used longest ago go first. */
export const MOST_NUMBERS = 8_000_000;
const WINDOW = 512;
const MOST_ROUNDS = 64;

export function emptyProfile(): Profile {
  return { stats: new Map(), workflows: new Map(), waits: new Map(), difficulty: new Map(), numbers: 0 };
}

export function emptyStats(): ProfileStats {
  return {
    calls: 0,
    promptTokens: 0,
    outputTokens: 0,
    stages: 0,
    serviceSeconds: 0,
    rounds: 0,
    callRing: emptyRing(2),
    stageRing: emptyRing(STAGE_STRIDE),
    roundCounts: [],
  };
}

/** Own key first, then its parents: (tenant, agent, stage), (tenant, agent), (tenant). */
export function profileKeys(tenant: string, agent: string, stage: string): readonly [string, string, string] {
  return [frameKey(tenant, agent, stage), frameKey(tenant, agent), frameKey(tenant)];
}

/** The entry of a key, moved to the young end, so that the key used longest ago is the first to be dropped. */
function statsFor(profile: Profile, key: string): ProfileStats {
  const stats = profile.stats.get(key) ?? emptyStats();
  profile.stats.delete(key);
  profile.stats.set(key, stats);
  return stats;
}

function keepBounds(profile: Profile): void {
  for (const [key, { callRing, stageRing }] of profile.stats) {
    if (profile.stats.size <= MOST_KEYS && profile.numbers <= MOST_NUMBERS) return;
    profile.stats.delete(key);
    profile.numbers -= callRing.data.length + stageRing.data.length;
  }
}

function moveMean(mean: number, samples: number, value: number): number {
  return mean + (value - mean) / Math.min(samples, WINDOW);
}

/** One finished call: prompt tokens computed and tokens generated. */
export function observeCall(profile: Profile, keys: readonly string[], promptTokens: number, outputTokens: number): void {
  if (!Number.isFinite(promptTokens) || !Number.isFinite(outputTokens)) return;
  for (const key of keys) {
    const stats = statsFor(profile, key);
    stats.calls += 1;
    stats.promptTokens = moveMean(stats.promptTokens, stats.calls, promptTokens);
    stats.outputTokens = moveMean(stats.outputTokens, stats.calls, outputTokens);
    profile.numbers += pushRing(stats.callRing, [promptTokens, outputTokens]);
  }
  keepBounds(profile);
}

/** One finished visit of a stage. Returns the index of its record at each level, for `settleFactor`. */
export function observeStage(
  profile: Profile,
  keys: readonly string[],
  sums: readonly number[],
  serviceSeconds: number,
): readonly number[] {
  const rounds = sums[STAGE.rounds]!;
  const marks = keys.map((key) => {
    const stats = statsFor(profile, key);
    stats.stages += 1;
    stats.serviceSeconds = moveMean(stats.serviceSeconds, stats.stages, serviceSeconds);
    stats.rounds = moveMean(stats.rounds, stats.stages, rounds);
    profile.numbers += pushRing(stats.stageRing, sums);
    return stats.stageRing.seen - 1;
  });
  keepBounds(profile);
  return marks;
}

/** How many rounds a stage had, for c_v (2.9). */
export function observeRounds(profile: Profile, keys: readonly string[], rounds: number): void {
  const k = Math.min(MOST_ROUNDS, Math.max(0, Math.round(rounds)));
  for (const key of keys) {
    const counts = profile.stats.get(key)?.roundCounts;
    if (counts === undefined) continue;
    while (counts.length <= k) counts.push(0);
    counts[k]! += 1;
  }
}

/** The task is over: its final difficulty factor goes beside the stages it taught (2.2, 2.6). */
export function settleFactor(profile: Profile, keys: readonly string[], marks: readonly number[], factor: number): void {
  keys.forEach((key, level) => {
    const stats = profile.stats.get(key);
    if (stats !== undefined) patchRing(stats.stageRing, marks[level]!, STAGE.factor, factor);
  });
}

/** One wait between two calls, seconds. */
export function observeWait(profile: Profile, tenant: string, name: string, seconds: number): void {
  if (!(seconds >= 0) || !Number.isFinite(seconds)) return;
  const key = frameKey(tenant, name);
  const ring = profile.waits.get(key) ?? emptyRing(1);
  profile.waits.delete(key);
  profile.waits.set(key, ring);
  pushRing(ring, [seconds]);
  trim(profile.waits, MOST_KEYS / 4);
}
