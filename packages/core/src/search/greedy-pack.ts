import { overtakeLimit } from "../overtakes.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import type { View } from "../view.ts";
import { compareAge } from "./heads.ts";
import type { Pool } from "./pool.ts";
import type { Victims } from "./victims.ts";

/**
 * GREEDYPACK (algorithm 3.3): keeps exactly the prefixes of a set running and fills the room by marginal gain. One packer per
 * decision; its result fields are overwritten by the next set, and its inner loops allocate nothing.
 */
export interface Packer {
  /** False: infeasible, for a victim is not eligible, too many would leave, or what must be held back does not fit. */
  open(set: Uint8Array): boolean;
  /** Bound on J_admit of the opened set, seconds; stops early once it is known to reach `enough`. */
  bound(enough: number): number;
  /** Fills the opened set. */
  fill(): void;
  /** After `open`. */
  readonly leaving: Uint8Array;
  preempted: number;
  redoSeconds: number;
  revokeSeconds: number;
  /** After `fill`: ranks of the heads taken, in order, and what each adds to J_admit. */
  readonly taken: Int32Array;
  readonly values: Float64Array;
  count: number;
}

export function createPacker(view: View, options: PolicyOptions, pool: Pool, victims: Victims): Packer {
  const { groups, ranked, kin, columns } = pool;
  const { group, need, worth, value, upper, worthPerBase, credit } = columns;
  const size = ranked.length;
  const count = groups.length;
  const most = Math.min(options.maxPerDecision, size);
  const searching = options.sets === "search";
  const tokens = Float64Array.from(groups, ({ prefix }) => prefix?.tokens ?? 0);
  const minNeed = Float64Array.from(groups, (one) => one.minNeed);
  const bare = Uint8Array.from(groups, ({ prefix }) => (prefix === null ? 1 : 0));
  const hungry = Uint8Array.from(groups, (one) =>
    one.prefix !== null && one.running.length === 0 && one.heads.length > 0 ? 1 : 0,
  );
  /** Room a group has beyond the common room: what was held back for its first request, or minus its prefix in one-set mode. */
  const extra = new Float64Array(groups.length);
  const holding = new Uint8Array(groups.length);
  /** Smallest need from each rank on: below it the common room admits nobody further down. */
  const needBelow = new Float64Array(size + 1).fill(Infinity);
  for (let rank = size - 1; rank >= 0; rank--) needBelow[rank] = Math.min(need[rank]!, needBelow[rank + 1]!);
  const done = new Int32Array(size).fill(-1);
  /** Families with a member taken in this fill, and which. */
  const touched: number[] = [];
  const isTouched = new Uint8Array(kin.length);
  const kinTaken: (Uint8Array | undefined)[] = kin.map(() => undefined);
  /** 1: the opened set keeps this group running. */
  const staying = new Uint8Array(groups.length);
  const limit = overtakeLimit(view, options);
  let run = 0;
  let cursor = 0;
  let room = 0;
  let slots = 0;
  let holds = 0;
  let byAge: Int32Array | null = null;
  let byUpper: Int32Array | null = null;
  let byDensity: Int32Array | null = null;
  const density = (rank: number): number => upper[rank]! / Math.max(need[rank]!, 1e-9);
  const order = (compare: (a: number, b: number) => number): Int32Array =>
    Int32Array.from({ length: size }, (_, i) => i).sort(compare);

  const open = (rank: number): boolean => {
    const at = group[rank]!;
    return (
      staying[at] === 1 &&
      done[rank] !== run &&
      need[rank]! <= room + extra[at]! &&
      (holding[at] === 1 || slots > holds) &&
      (limit === null || limit.allows(ranked[rank]!.request))
    );
  };
  const take = (rank: number, gain: number): void => {
    const at = group[rank]!;
    room += extra[at]! - need[rank]!;
    extra[at] = 0;
    if (holding[at] === 1) holds -= 1;
    holding[at] = 0;
    slots -= 1;
    done[rank] = run;
    if (limit?.take(ranked[rank]!.request) === true) cursor = 0;
    packer.taken[packer.count] = rank;
    packer.values[packer.count] = gain;
    packer.count += 1;
    const family = columns.kin[rank]!;
    if (family < 0) return;
    const { members } = kin[family]!;
    const taken = (kinTaken[family] ??= new Uint8Array(members.length));
    if (isTouched[family] === 0) {
      isTouched[family] = 1;
      touched.push(family);
      taken.fill(0);
    }
    taken[members.indexOf(rank)] = 1;
  };
  const valueNow = (rank: number): number => {
    const family = columns.kin[rank]!;
    if (family < 0 || isTouched[family] === 0) return value[rank]!;
    return kin[family]!.given(kinTaken[family]!)[kin[family]!.members.indexOf(rank)]! * credit[rank]!;
  };

  const packer: Packer = {
    leaving: new Uint8Array(groups.length),
    preempted: 0,
    redoSeconds: 0,
    revokeSeconds: 0,
    taken: new Int32Array(most),
    values: new Float64Array(most),
    count: 0,

    open(set) {
      let preempted = 0;
      let redo = 0;
      let revoke = 0;
      let held = 0;
      holds = 0;
      for (let at = 0; at < count; at++) {
        const stays = bare[at] === 1 || set[at] === 1;
        const leaves = !stays && victims.count[at]! > 0;
        staying[at] = stays ? 1 : 0;
        packer.leaving[at] = leaves ? 1 : 0;
        const hungers = hungry[at] === 1 && set[at] === 1;
        holding[at] = hungers && searching ? 1 : 0;
        extra[at] = hungers ? (searching ? minNeed[at]! : -tokens[at]!) : 0;
        if (holding[at] === 1) {
          holds += 1;
          held += tokens[at]! + minNeed[at]!;
        }
        if (!leaves) continue;
        if (victims.eligible[at] === 0) return false;
        preempted += victims.count[at]!;
        redo += victims.redo[at]!;
        revoke += victims.revoke[at]!;
      }
      if (preempted > options.maxPerDecision) return false;
      packer.preempted = preempted;
      packer.redoSeconds = redo;
      packer.revokeSeconds = revoke;
      room = (preempted === 0 ? view.roomTokens : victims.roomWithout(packer.leaving)) - held;
      slots = view.slots + preempted;
      return room >= 0 && holds <= slots;
    },

    bound(enough) {
      byUpper ??= order((a, b) => upper[b]! - upper[a]! || a - b);
      let left = Math.min(most, slots);
      let byCount = 0;
      for (let i = 0; i < size && left > 0; i++) {
        const rank = byUpper[i]!;
        if (staying[group[rank]!] === 0) continue;
        byCount += upper[rank]!;
        left -= 1;
      }
      if (byCount < enough) return byCount;
      byDensity ??= order((a, b) => density(b) - density(a) || a - b);
      let space = room;
      for (let at = 0; at < groups.length; at++) if (holding[at] === 1) space += extra[at]!;
      let bySpace = 0;
      for (let i = 0; i < size && space > 0; i++) {
        const rank = byDensity[i]!;
        if (staying[group[rank]!] === 0) continue;
        bySpace += need[rank]! <= space ? upper[rank]! : (upper[rank]! * space) / need[rank]!;
        space -= need[rank]!;
        if (bySpace >= byCount) return byCount;
      }
      return Math.min(byCount, bySpace);
    },

    fill() {
      run += 1;
      packer.count = 0;
      limit?.reset();
      for (const family of touched) isTouched[family] = 0;
      touched.length = 0;
      cursor = 0;
      while (packer.count < most && slots > 0) {
        while (cursor < size && (!open(cursor) || (columns.kin[cursor]! >= 0 && isTouched[columns.kin[cursor]!] === 1)))
          cursor = holds === 0 && needBelow[cursor]! > room ? size : cursor + 1;
        let best = cursor < size ? cursor : -1;
        let gain = best < 0 ? 0 : worth[best]!;
        let adds = best < 0 ? 0 : value[best]!;
        for (const family of touched) {
          const { members } = kin[family]!;
          const now = kin[family]!.given(kinTaken[family]!);
          for (let i = 0; i < members.length; i++) {
            const rank = members[i]!;
            if (!open(rank)) continue;
            const its = now[i]! * worthPerBase[rank]!;
            if (best >= 0 && (its < gain || (its === gain && compareAge(ranked[rank]!, ranked[best]!) > 0))) continue;
            best = rank;
            gain = its;
            adds = now[i]! * credit[rank]!;
          }
        }
        if (best < 0 || gain <= 0) break;
        take(best, adds);
      }
      if (!options.workConserving || packer.count >= most || slots <= 0) return;
      byAge ??= order((a, b) => compareAge(ranked[a]!, ranked[b]!));
      for (let i = 0; i < size && packer.count < most && slots > 0; i++)
        if (open(byAge[i]!)) take(byAge[i]!, valueNow(byAge[i]!));
    },
  };
  return packer;
}
