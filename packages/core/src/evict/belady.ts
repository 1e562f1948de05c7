import { stepsToUse } from "../estimate/reuse.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { Evict } from "../policy/policy.ts";

/**
 * Belady: the entry whose true next use is farthest leaves first, ties least recently used. Without the truth, and where it
 * is silent, steps to the next use stand in, one second a step.
 */
export function belady(options: AllOptions): Evict {
  return {
    id: "belady",
    values(view) {
      const distance = stepsToUse(view);
      return (entry) => {
        const next = options.truth?.nextUseSeconds(entry.id) ?? null;
        const away = next === null ? (distance.get(entry.id) ?? Infinity) : Math.max(0, next - view.nowSeconds);
        return 1 / (1 + away);
      };
    },
  };
}
