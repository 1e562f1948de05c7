import { agentKey, partition } from "../order/partition.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import { takeVictims, type OverflowRule } from "./latest.ts";
import { overflowOrder } from "./overflow.ts";

/** Overflow retracts within the agent that is furthest over its quota; within one agent by the default rule. */
export function inQuota(options: AllOptions): OverflowRule {
  return {
    id: "in-quota",
    voluntary: false,
    eligible: () => false,
    overflow(state, shortTokens) {
      const shares = partition(state, options);
      const excess = (key: string): number => (shares.used.get(key) ?? 0) - shares.quotaTokens(key);
      return takeVictims(state, shortTokens, (a, b) => excess(agentKey(b)) - excess(agentKey(a)) || overflowOrder(a, b));
    },
  };
}
