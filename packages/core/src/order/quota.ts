import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import { fcfs } from "./fcfs.ts";
import { agentKey, partition } from "./partition.ts";

/** First come, first served within quotas: an agent that runs nothing may always start, else it stays within its quota. */
export function quotaOrder(options: AllOptions): KeyOrder {
  return {
    ...fcfs,
    id: "quota",
    gate(view) {
      const shares = partition(view.state, options);
      return {
        refuse(request) {
          const key = agentKey(request);
          const used = shares.used.get(key);
          return used !== undefined && used + view.needTokens(request) > shares.quotaTokens(key) ? "quota" : null;
        },
        take(request) {
          const key = agentKey(request);
          shares.used.set(key, (shares.used.get(key) ?? shares.prefixTokens(key)) + view.needTokens(request));
        },
      };
    },
  };
}
