import type { Profile } from "../model/profile.ts";
import type { HostTier } from "../model/transfer.ts";
import { JointEngine } from "../rules/joint.ts";
import type { JointListener } from "../rules/joint-types.ts";
import type { RulesId, SglangRules, StockRulesId, VllmRules } from "../rules/rules.ts";
import { SglangEngine } from "../rules/sglang.ts";
import { VllmEngine } from "../rules/vllm.ts";
import type { VirtualEngine } from "./engine.ts";
import { Machine, type EngineListener } from "./machine.ts";
import type { RecorderOptions } from "./recorder.ts";

const VLLM_BLOCK_TOKENS = 16;

/** Switches of the rule sets; what is left out comes from the profile and the engine's defaults. */
export interface RulesOptions {
  readonly sglang?: Partial<SglangRules>;
  readonly vllm?: Partial<VllmRules>;
  /** Steps of the controlled engine: SGLang's prefill first, or vLLM's mixed steps. */
  readonly mixedSteps?: boolean;
  readonly hostTier?: HostTier;
  /** Host pool over device budget. */
  readonly hostRatio?: number;
}

export interface BuildOptions {
  readonly profile: Profile;
  readonly rules: RulesId;
  readonly rulesOptions: RulesOptions;
  readonly budgetTokens: number;
  readonly listener: EngineListener;
  readonly recorder: RecorderOptions;
}

export function isJoint(rules: RulesId): rules is "oracle" | "joint" {
  return rules === "oracle" || rules === "joint";
}

export function blockTokensOf(rules: RulesId, profile: Profile): number {
  if (isJoint(rules)) return profile.blockTokens;
  return rules === "sglang-0.5.x" ? 1 : VLLM_BLOCK_TOKENS;
}

export function buildStock(options: BuildOptions & { readonly rules: StockRulesId }): VirtualEngine {
  const { profile, rules, rulesOptions } = options;
  const { limits } = profile;
  const machine = machineOf(options);
  const host = { hostTier: rulesOptions.hostTier ?? "none", hostRatio: rulesOptions.hostRatio ?? 2 };
  if (rules === "sglang-0.5.x") {
    const sglang: SglangRules = {
      chunkTokens: limits.chunkTokens,
      maxPrefillTokens: limits.maxPrefillTokens,
      maxRunning: 2_048,
      order: "fcfs",
      conservativeness: 1,
      redo: "prefill",
      ...rulesOptions.sglang,
    };
    return new SglangEngine(machine, sglang, host);
  }
  const vllm: VllmRules = {
    batchTokens: limits.batchTokens,
    maxSequences: limits.maxSequences,
    reserveFullPrompt: rules === "vllm-0.19",
    freedKeepHash: true,
    ...rulesOptions.vllm,
  };
  return new VllmEngine(rules, machine, vllm, host);
}

export function buildJoint(options: BuildOptions, joint: JointListener): JointEngine {
  const { profile, rulesOptions } = options;
  const mixed = rulesOptions.mixedSteps ?? false;
  const rules = {
    mixed,
    chunkTokens: mixed ? profile.limits.batchTokens : profile.limits.chunkTokens,
    hostTier: rulesOptions.hostTier ?? "none",
    hostRatio: rulesOptions.hostRatio ?? 2,
  };
  return new JointEngine(machineOf(options), rules, joint);
}

function machineOf(options: BuildOptions): Machine {
  const { profile, rules, budgetTokens, listener, recorder } = options;
  return new Machine({ profile, budgetTokens, blockTokens: blockTokensOf(rules, profile), listener, recorder });
}
