import { redoSeconds } from "../estimate/cost.ts";
import type { Policy } from "../policy/policy.ts";
import { redoMode } from "../score/redo.ts";
import { revokeCost } from "../score/revoke.ts";
import type { RequestState } from "../state.ts";
import { roomAfter, type View } from "../view.ts";
import type { Pool } from "./pool.ts";
import { createSetKeys, type SetKey } from "./set-key.ts";

/** What it means to preempt all running requests of a group, worked out once per decision. */
export interface Victims {
  /** Running requests per group. */
  readonly count: Int32Array;
  /** 1: every one of them may be a victim. */
  readonly eligible: Uint8Array;
  /** J_redo and J_revoke of the group, seconds. */
  readonly redo: Float64Array;
  readonly revoke: Float64Array;
  /** Room of the promise ledger once these groups (one byte each) have left. */
  roomWithout(leaving: Uint8Array): number;
}

export function victimsOf(view: View, policy: Policy, { groups, gains }: Pick<Pool, "groups" | "gains">): Victims {
  const { options, preempt } = policy;
  const config = { ...view.state.config, redo: redoMode(view.state.config, options) };
  const count = Int32Array.from(groups, (group) => group.running.length);
  const rooms = new Map<SetKey, number>();
  const keyOf = createSetKeys(groups.length);
  const may = (request: RequestState): boolean => preempt.eligible(view, request, options);
  const agedBy = (request: RequestState): number => (options.sunkWork === "paper" ? 1 : gains.credit(gains.ageSince(request)));
  return {
    count,
    eligible: Uint8Array.from(groups, ({ running, prefix }) =>
      prefix !== null && preempt.voluntary && running.length <= options.maxPerDecision && running.every(may) ? 1 : 0,
    ),
    redo: Float64Array.from(groups, ({ running }) =>
      running.reduce((sum, request) => sum + redoSeconds(config, request, options.redoBill), 0),
    ),
    revoke: Float64Array.from(groups, ({ running }) => revokeCost(running, options.revokeFactor, agedBy)),
    roomWithout(leaving) {
      const key = keyOf(leaving);
      let room = rooms.get(key);
      if (room === undefined) {
        const staying = groups.flatMap((group) => (leaving[group.index] === 1 ? [] : group.running));
        rooms.set(key, (room = roomAfter(view, staying)));
      }
      return room;
    },
  };
}
