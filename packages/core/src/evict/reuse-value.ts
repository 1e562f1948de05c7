import { copySeconds } from "../estimate/cost.ts";
import type { Evict } from "../policy/policy.ts";
import { nearTermReuse } from "../estimate/near-term.ts";

/** n_a x move seconds, ties least recently used: the lowest reuse value of Eq. 11 leaves first (algorithm 3.5). Sessions have n = 0. */
export const reuseValue: Evict = {
  id: "value",
  values(view) {
    const reuse = nearTermReuse(view);
    return (entry) => (reuse.get(entry.id) ?? 0) * copySeconds(view.state.config.speeds, entry.tokens);
  },
};
