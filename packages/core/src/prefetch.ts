import type { Cover } from "./evict/cover.ts";
import { freeTokens } from "./ledger.ts";
import type { Plan, Policy } from "./policy/policy.ts";
import type { EntryState } from "./state.ts";
import type { View } from "./view.ts";

/** Absent prefixes loaded without a request, best first, only into cells that are free once the plan is carried out. */
export function prefetchLoads(view: View, policy: Policy, plan: Plan, moved: Cover): readonly EntryState[] {
  const wanted = policy.evict.prefetch?.(view) ?? [];
  if (wanted.length === 0 || plan.preempt.length > 0) return [];
  const incoming = new Set(moved.incoming);
  const out: EntryState[] = [];
  let spare = Math.min(freeTokens(view.state), -moved.balanceTokens);
  for (const entry of wanted) {
    if (entry.phase !== "absent" || entry.tokens > spare || incoming.has(entry)) continue;
    out.push(entry);
    spare -= entry.tokens;
  }
  return out;
}
