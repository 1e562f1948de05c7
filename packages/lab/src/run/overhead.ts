import { createPolicy, decide, isDeciding, type PolicyChanges } from "@topas/core";
import { simulate } from "@topas/sim";
import type { Cell } from "../grid/cell.ts";
import { readProfile } from "../profile.ts";
import { quantile } from "../stats/describe.ts";
import { workloadOf } from "./workload.ts";

export interface Cost {
  readonly decisionP50Us: number;
  readonly decisionP95Us: number;
  /** Decisions a second of engine time, times the mean decision. */
  readonly wallShare: number;
}

const MOST_SAMPLES = 3_000;
const WARM = 50;

/**
 * Wall-clock cost of one decision on the states a run goes through: a second, discarded run in which a twin of the policy decides
 * again at every event that asks for a decision. Kept apart from the measured runs, which know no wall clock.
 */
export function overheadOf(cell: Cell): Cost {
  const { arm } = cell;
  const { workload } = workloadOf(cell);
  const changes: PolicyChanges = {
    ...(arm.options as PolicyChanges | undefined),
    ...(arm.fit === undefined ? {} : { fit: arm.fit }),
    ...(arm.reserve === undefined || arm.reserve === "none" ? {} : { reserve: arm.reserve }),
  };
  const id = arm.policy ?? arm.name;
  const twin = createPolicy(id, changes);
  if (twin === null) throw new RangeError(`unknown policy ${id}`);
  const micros: number[] = [];
  const result = simulate({
    profile: readProfile(cell.profile),
    budget: cell.budgetTokens,
    rules: "joint",
    rulesOptions: { hostTier: cell.hostTier },
    policy: id,
    policyOptions: changes,
    agents: workload.agents,
    tasks: workload.tasks,
    ...(arm.redo === undefined ? {} : { redo: arm.redo }),
    onEvent: (state, event) => {
      if (!isDeciding(event) || micros.length >= MOST_SAMPLES) return;
      const startedMs = performance.now();
      decide(state, twin, event.at);
      micros.push((performance.now() - startedMs) * 1_000);
    },
  });
  const kept = micros.slice(Math.min(WARM, Math.floor(micros.length / 2)));
  const meanUs = kept.reduce((a, b) => a + b, 0) / Math.max(1, kept.length);
  return {
    decisionP50Us: quantile(kept, 0.5),
    decisionP95Us: quantile(kept, 0.95),
    wallShare: (result.decisions * meanUs) / 1e6 / result.endSeconds,
  };
}
