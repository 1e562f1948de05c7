import type { Cover } from "../evict/cover.ts";
import type { EntryId, Terms } from "../events.ts";
import type { Plan, Policy, ScoredPlan } from "../policy/policy.ts";
import type { EntryState } from "../state.ts";
import type { View } from "../view.ts";
import { moveCost } from "./move.ts";
import { redoCost } from "./redo.ts";
import { reuseValueSeconds } from "./reuse.ts";
import { revokeCost } from "./revoke.ts";

/** Score = J_admit - J_move - J_redo - J_revoke + V_reuse (Eq. 13), all in seconds. */
export function scorePlan(view: View, policy: Policy, plan: Plan, moved: Cover, reuse: ReadonlyMap<EntryId, number>): ScoredPlan {
  const { config } = view.state;
  const { options } = policy;
  const waitingTasks = new Set<string>();
  let admit = 0;
  for (const { request, gainSeconds } of plan.admit) {
    admit += gainSeconds;
    if (moved.incoming.some((entry) => entry.id === request.prefix)) waitingTasks.add(request.spec.task);
  }
  const terms: Terms = {
    admit,
    move: moveCost(config, moved.incoming, moved.evict, waitingTasks.size, options.billSwapOut),
    redo: redoCost(config, plan.preempt, options.redoBill),
    revoke: revokeCost(plan.preempt, options.revokeFactor),
    reuse: reuseValueSeconds(config.speeds, residentAfter(view, moved), reuse, options.beta),
  };
  return { ...plan, terms, totalSeconds: totalSeconds(terms), loads: moved.incoming.length };
}

export function totalSeconds(terms: Terms): number {
  return terms.admit - terms.move - terms.redo - terms.revoke + terms.reuse;
}

function* residentAfter(view: View, moved: Cover): Generator<EntryState> {
  const gone = new Set(moved.evict);
  const counted = new Set<EntryState>(moved.incoming);
  yield* moved.incoming;
  for (const entry of view.state.entries.values())
    if ((entry.phase === "resident" || entry.phase === "loading") && !gone.has(entry) && !counted.has(entry)) yield entry;
}
