import { createPolicy, type CoreConfig, type CoreEvent, type Policy, type PolicyChanges, type State } from "@topas/core";
import { blockTokensOf, isJoint, type RulesOptions } from "./engine/build.ts";
import type { RecorderOptions } from "./engine/recorder.ts";
import type { Profile } from "./model/profile.ts";
import { referenceSpeeds } from "./model/speeds.ts";
import type { RulesId } from "./rules/rules.ts";
import { decodeSeconds, prefillSeconds } from "./model/step-time.ts";
import type { SimAgent, SimStage, SimTask } from "./task.ts";
import { callsOf } from "./workload/capacity.ts";

export interface SimConfig {
  readonly profile: Profile;
  /** Tokens, or the name of a budget of the profile. */
  readonly budget?: number | string;
  readonly rules: RulesId;
  readonly rulesOptions?: RulesOptions;
  /** A core policy id. Without one the stock rules run alone; `oracle` and `joint` need one. */
  readonly policy?: string;
  readonly policyOptions?: PolicyChanges;
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
  readonly record?: Partial<RecorderOptions>;
  /** What a preempted call of a controlled engine loses. Default: swap with a host tier, else prefill again. */
  readonly redo?: CoreConfig["redo"];
  readonly maxRunning?: number;
  /** A policy that moves prefixes to and fro for so many decisions lets nobody run: the run ends with an error. Default 10,000. */
  readonly decisionsWithoutStep?: number;
  /** Keep the private KV of stages with several rounds between rounds (controlled engine; stock caches decide themselves). */
  readonly keepSessions?: boolean;
  /** Virtual time at which an unfinished run is stopped. Default: far behind what any run needs that gets anywhere. */
  readonly horizonSeconds?: number;
  /** Check every invariant after every event. Slow; on in tests. */
  readonly check?: boolean;
  readonly onEvent?: (state: State, event: CoreEvent) => void;
}

/** The budget a configuration means, tokens. @throws RangeError for an unknown name. */
export function budgetOf(profile: Profile, budget: number | string | undefined): number {
  const tokens = typeof budget === "number" ? budget : profile.kvBudgetTokens[budget ?? "default"];
  if (tokens === undefined || !(tokens > 0))
    throw new RangeError(
      `unknown budget "${budget}": a number of tokens or one of ${Object.keys(profile.kvBudgetTokens).join(", ")}`,
    );
  return tokens;
}

/** The policy of a configuration; null: none. @throws RangeError for one that the rules cannot serve. */
export function policyOf(config: SimConfig): Policy | null {
  if (config.policy === undefined) {
    if (isJoint(config.rules)) throw new RangeError(`rules ${config.rules} need a policy`);
    return null;
  }
  const policy = createPolicy(config.policy, config.policyOptions);
  if (policy === null) throw new RangeError(`unknown policy "${config.policy}"`);
  if (isJoint(config.rules) && !policy.options.governs)
    throw new RangeError(`policy ${policy.id} leaves the engine to itself: use stock rules`);
  if (!isJoint(config.rules) && policy.options.governs && policy.preempt.voluntary)
    throw new RangeError(`policy ${policy.id} preempts, which ${config.rules} cannot do: use rules joint`);
  return policy;
}

/** Arrivals end, so work runs out: by then 20 times over, or 4 times over if every call ran alone, one after another. */
const ARRIVAL_SPANS = 20;
const SERIAL_SPANS = 4;

export function horizonOf({ horizonSeconds, profile, agents, tasks }: SimConfig): number {
  if (horizonSeconds !== undefined) return horizonSeconds;
  const last = tasks.reduce((most, { arrivalSeconds }) => Math.max(most, arrivalSeconds), 0);
  let serial = tasks.reduce((sum, { stages }) => sum + waitSeconds(stages), 0);
  for (const { prefixTokens, historyTokens, promptTokens, outputTokens } of callsOf({ agents, tasks })) {
    const context = prefixTokens + historyTokens + promptTokens;
    serial += prefillSeconds(profile, context) + outputTokens * decodeSeconds(profile, 1, context + outputTokens);
  }
  return Math.max(ARRIVAL_SPANS * last, last + SERIAL_SPANS * serial);
}

function waitSeconds(stages: readonly SimStage[]): number {
  return stages.reduce((sum, { rounds }) => sum + rounds.reduce((all, { toolWaitSeconds }) => all + toolWaitSeconds, 0), 0);
}

export function coreConfig(config: SimConfig): CoreConfig {
  const { profile, rules, rulesOptions = {} } = config;
  const tier = rulesOptions.hostTier ?? "none";
  const block = blockTokensOf(rules, profile);
  return {
    budgetTokens: Math.floor(budgetOf(profile, config.budget) / block) * block,
    blockTokens: block,
    maxRunning: config.maxRunning ?? profile.limits.maxSequences,
    contextTokens: null,
    speeds: referenceSpeeds(profile, tier),
    hostTier: isJoint(rules) && tier !== "none",
    redo: config.redo ?? (tier === "none" ? "reprefill" : "swap"),
    failsOnOverflow: false,
    headroomTokens: 0,
  };
}
