import { createPolicy, type CoreConfig, type CoreEvent, type Policy, type PolicyChanges, type State } from "@topas/core";
import { blockTokensOf, isJoint, type RulesOptions } from "./engine/build.ts";
import type { RecorderOptions } from "./engine/recorder.ts";
import type { Profile } from "./model/profile.ts";
import { referenceSpeeds } from "./model/speeds.ts";
import type { RulesId } from "./rules/rules.ts";
import type { SimAgent, SimTask } from "./task.ts";

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
  /** Keep the private KV of stages with several rounds between rounds (controlled engine; stock caches decide themselves). */
  readonly keepSessions?: boolean;
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
    throw new RangeError(`policy ${policy.id} preempts, which ${config.rules} cannot do: use rules oracle`);
  return policy;
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
