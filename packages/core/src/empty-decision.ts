import type { Decision } from "./events.ts";
import type { Policy } from "./policy/policy.ts";

/** Doing nothing; `wakeAtSeconds`: when to ask again, null: at the next deciding event. */
export function emptyDecision(policy: Policy, nowSeconds: number, wakeAtSeconds: number | null): Decision {
  return {
    policy: policy.id,
    atSeconds: nowSeconds,
    preempt: [],
    evict: [],
    load: [],
    admit: [],
    keep: [],
    why: [],
    wakeAtSeconds,
  };
}
