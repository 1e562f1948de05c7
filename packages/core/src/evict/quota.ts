import { partition } from "../order/partition.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { Evict } from "../policy/policy.ts";

/** Prefixes of the static partition leave last, the rest least recently used. Soft: a request that fits is never kept out. */
export function quotaEvict(options: AllOptions): Evict {
  return {
    id: "quota",
    values(view) {
      const { pinned } = partition(view.state, options);
      return (entry) => (pinned.has(entry.id) ? 1 : 0);
    },
  };
}
