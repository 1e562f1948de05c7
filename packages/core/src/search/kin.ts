import type { Gains } from "../score/admit.ts";
import type { Head } from "./heads.ts";
import { createSetKeys, type SetKey } from "./set-key.ts";

/** The waiting heads of one task when there are several: what taking some does to the gains of the others. */
export interface Kin {
  /** By rank, ascending. */
  readonly members: readonly number[];
  /** Per member, once those of `taken` (one byte each) are taken. Worked out once per subset. */
  given(taken: Uint8Array): KinGains;
}

export interface KinGains {
  readonly worth: Float64Array;
  readonly value: Float64Array;
}

export function groupKin(ranked: readonly Head[], gains: Gains, byDensity: boolean): Kin[] {
  const byTask = new Map<string, number[]>();
  ranked.forEach(({ request }, rank) => {
    const known = byTask.get(request.spec.task);
    if (known === undefined) byTask.set(request.spec.task, [rank]);
    else known.push(rank);
  });
  const out: Kin[] = [];
  for (const members of byTask.values()) if (members.length > 1) out.push(kinOf(members, ranked, gains, byDensity));
  return out;
}

function kinOf(members: readonly number[], ranked: readonly Head[], gains: Gains, byDensity: boolean): Kin {
  const known = new Map<SetKey, KinGains>();
  const keyOf = createSetKeys(members.length);
  return {
    members,
    given(taken) {
      const key = keyOf(taken);
      let found = known.get(key);
      if (found !== undefined) return found;
      const stages = new Set<string>();
      members.forEach((rank, i) => {
        if (taken[i] === 1) stages.add(ranked[rank]!.request.spec.stage);
      });
      found = { worth: new Float64Array(members.length), value: new Float64Array(members.length) };
      for (let i = 0; i < members.length; i++) {
        const { request, age, need } = ranked[members[i]!]!;
        const base = gains.base(request, stages);
        found.value[i] = gains.credit(request) * base;
        found.worth[i] = byDensity ? (age * base) / Math.max(1, need) : age * base;
      }
      known.set(key, found);
      return found;
    },
  };
}
