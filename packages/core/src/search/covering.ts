import { leaveSeconds } from "../estimate/cost.ts";
import type { Physical } from "../evict/cover.ts";
import type { EntryState } from "../state.ts";
import type { View } from "../view.ts";
import type { Packer } from "./greedy-pack.ts";
import type { Group, Pool } from "./pool.ts";

/** What evicting for a content costs: the swap-out seconds and the reuse that is given up. Overwritten by the next question. */
export interface Covering {
  moveSeconds: number;
  reuseSeconds: number;
  /** Adds to what is there: `short` tokens are missing, `used` groups (one byte each) have calls in the content. */
  cover(packer: Packer, used: Uint8Array, short: number): void;
}

/**
 * The eviction of `cover` in columns, for contents it has no exceptions for: no set to be kept out, no session continued. null:
 * a head continues a session, or a prefix loads for nobody.
 */
export function createCovering(
  view: View,
  { groups, ranked }: Pick<Pool, "groups" | "ranked">,
  physical: Physical,
  reuseOf: (entry: EntryState) => number,
): Covering | null {
  if (ranked.some(({ request }) => request.spec.session !== null)) return null;
  if (groups.some(({ prefix }) => prefix?.phase === "loading" && prefix.users === 0)) return null;
  const { order } = physical;
  const { config } = view.state;
  const groupOf = new Map<EntryState | null, Group>(groups.map((group) => [group.prefix, group]));
  const place = new Map(order.map((entry, i) => [entry.id, i]));
  const group = Int32Array.from(order, (entry) => groupOf.get(entry)?.index ?? -1);
  const base = Int32Array.from(order, (entry) => (entry.base === null ? -1 : (place.get(entry.base) ?? -1)));
  const cells = Float64Array.from(order, (entry) => entry.cells);
  const users = Int32Array.from(order, (entry) => entry.users);
  const sessions = Int32Array.from(order, (entry) => entry.sessions);
  const dead = Uint8Array.from(order, (entry) => (entry.dead ? 1 : 0));
  const leave = Float64Array.from(order, (entry) => leaveSeconds(config, entry));
  const reuse = Float64Array.from(order, reuseOf);
  const callers = Int32Array.from(groups, ({ running }) => running.length);
  const gone = new Int32Array(order.length);
  const anyDead = order.some((entry) => entry.dead);
  const covering: Covering = {
    moveSeconds: 0,
    reuseSeconds: 0,
    cover(packer, used, missing) {
      let short = missing;
      if (short <= 0 && !anyDead) return;
      gone.fill(0);
      for (let i = 0; i < order.length; i++) {
        if (short <= 0 && dead[i] === 0) return;
        const at = group[i]!;
        if (at >= 0 && used[at] === 1) continue;
        if (users[i]! > (at >= 0 && packer.leaving[at] === 1 ? callers[at]! : 0) || sessions[i]! > gone[i]!) continue;
        short -= cells[i]!;
        covering.moveSeconds += leave[i]!;
        covering.reuseSeconds -= reuse[i]!;
        if (base[i]! >= 0) gone[base[i]!]! += 1;
      }
    },
  };
  return covering;
}
