import { ratioOf } from "./key.ts";

/** gamma of algorithm 5.2: share of the prefix's residence that its group is charged. */
const PREFIX_CHARGE = 0.5;

/** Requests of a group looked at, best key first. */
export const DEPTH = 8;

export interface Member {
  readonly key: number;
  /** A_j, token-seconds. */
  readonly areaTokenSeconds: number;
  /** s_j, seconds. */
  readonly serviceSeconds: number;
  readonly needTokens: number;
}

export interface GroupCharge {
  /** l_a. */
  readonly prefixTokens: number;
  /** rec_a * p * l_a * B: everyone stalls while the prefix is computed, token-seconds; 0 when it is resident or on host. */
  readonly stallTokenSeconds: number;
  /** `slots`: tokens left of the room after the prefix; and tokens the pinned agents will want meanwhile. null: not charged. */
  readonly displaced: { readonly leftTokens: number; readonly wantedTokens: number } | null;
}

/**
 * Value of starting an agent whose prefix nobody pins: kmax + ln of the best share of useful area over its first k members
 * (algorithm 5.2; vector V18). `members` in key order; never more than the first key.
 */
export function groupDensity(members: readonly Member[], charge: GroupCharge): number {
  const top = members[0]!.key;
  let weighted = 0;
  let area = 0;
  let need = 0;
  let longest = 0;
  let best = 0;
  for (const member of members) {
    weighted += ratioOf(member.key - top) * member.areaTokenSeconds;
    area += member.areaTokenSeconds;
    need += member.needTokens;
    longest = Math.max(longest, member.serviceSeconds);
    const held = PREFIX_CHARGE * (charge.prefixTokens * longest + charge.stallTokenSeconds);
    const taken =
      charge.displaced === null
        ? 0
        : Math.max(0, longest * (charge.displaced.wantedTokens - (charge.displaced.leftTokens - need)));
    const whole = area + held + taken;
    if (whole > 0) best = Math.max(best, weighted / whole);
  }
  return best > 0 ? top + Math.log(Math.min(1, best)) : -Infinity;
}

/** max over k of own area / (own area + l * longest service): what `decline: share` compares with theta (vector V35). */
export function ownShare(members: readonly Member[], prefixTokens: number): { readonly share: number; readonly longest: number } {
  let area = 0;
  let longest = 0;
  let share = 0;
  for (const member of members) {
    area += member.areaTokenSeconds;
    longest = Math.max(longest, member.serviceSeconds);
    const whole = area + prefixTokens * longest;
    if (whole > 0) share = Math.max(share, area / whole);
  }
  return { share, longest };
}
