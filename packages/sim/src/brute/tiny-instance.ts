import type { Rng } from "../rng.ts";
import type { UnitInstance } from "./unit-engine.ts";

/** Two or three tasks, chains and forks of up to three calls over three agents; promises are exact, so what is admitted fits. */
export function tinyInstance(rng: Rng): UnitInstance {
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
