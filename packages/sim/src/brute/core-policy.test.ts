import { createPolicy, policyIds } from "@topas/core";
import { describe, expect, it } from "vitest";
import { createRng, type Rng } from "../rng.ts";
import { corePolicy } from "./core-policy.ts";
import { bestMeanJct } from "./optimum.ts";
import type { UnitInstance } from "./unit-engine.ts";
import { runUnit } from "./unit-run.ts";

/** Chains and forks of up to three calls over three agents; promises are exact, so what the core admits fits. */
function instance(rng: Rng): UnitInstance {
  return {
    agents: [0, 1, 2].map(() => ({ prefixTokens: 1 + rng.int(4), setupUnits: rng.int(3) })),
    tasks: Array.from({ length: 2 + rng.int(2) }, () => ({
      arrival: rng.int(5),
      calls: Array.from({ length: 1 + rng.int(3) }, (_, i) => {
        const units = 1 + rng.int(5);
        return { agent: rng.int(3), units, kvTokens: units + 1 + rng.int(2), after: i === 0 ? [] : [rng.int(i)] };
      }),
    })),
    budgetTokens: 13 + rng.int(5),
    slots: 2,
    restarts: true,
  };
}

const instances = [101, 103, 105, 109, 110].map((seed) => instance(createRng(seed)));
const bests = instances.map((each) => bestMeanJct(each).meanJct);

/** Sends everything to the engine's own queue, which this engine does not have. */
const skipped = ["passthrough"];

describe("no policy beats the best schedule", () => {
  it.each(policyIds().filter((id) => !skipped.includes(id)))("%s", (id) => {
    for (const [i, each] of instances.entries())
      expect(runUnit(each, corePolicy(each, createPolicy(id)!)).meanJct).toBeGreaterThanOrEqual(bests[i]! - 1e-9);
  });

  it("and several reach it somewhere, so it is no empty bound", () => {
    const reach = (id: string): number =>
      instances.filter((each, i) => runUnit(each, corePolicy(each, createPolicy(id)!)).meanJct < bests[i]! + 1e-9).length;
    for (const id of ["srpt-w", "kv-index-safe", "lpm-task"]) expect(reach(id)).toBeGreaterThan(0);
  });
});
