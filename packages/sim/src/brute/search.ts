import { createPolicy, type PolicyChanges } from "@topas/core";
import { createRng } from "../rng.ts";
import { corePolicy } from "./core-policy.ts";
import { bestMeanJct } from "./optimum.ts";
import { tinyInstance } from "./tiny-instance.ts";
import { runUnit } from "./unit-run.ts";

export interface Player {
  readonly name: string;
  readonly policy: string;
  readonly changes?: PolicyChanges;
}

/** Mean completion times on one instance, units. */
export interface Tried {
  /** `tinyInstance(createRng(seed))` gives the instance again. */
  readonly seed: number;
  readonly optimum: number;
  /** In the order of the players. */
  readonly means: readonly number[];
}

/** Plays the instances of the seeds `from`, `from` + 1, ... and finds the best schedule of each. @throws RangeError for an unknown policy. */
export function tryInstances(players: readonly Player[], from: number, count: number): Tried[] {
  return Array.from({ length: count }, (_, i) => {
    const instance = tinyInstance(createRng(from + i));
    const means = players.map(({ policy: id, changes }) => {
      const policy = createPolicy(id, changes);
      if (policy === null) throw new RangeError(`unknown policy "${id}"`);
      return runUnit(instance, corePolicy(instance, policy)).meanJct;
    });
    return { seed: from + i, optimum: bestMeanJct(instance).meanJct, means };
  });
}
