import { copySeconds } from "../estimate/cost.ts";
import { nearTermReuse } from "../estimate/near-term.ts";
import { soonUses } from "../estimate/reuse.ts";
import type { EntryId } from "../events.ts";
import type { Evict } from "../policy/policy.ts";

/** n_a x move seconds, ties least recently used: the lowest reuse value of Eq. 11 leaves first (algorithm 3.5). Sessions have n = 0. */
export const reuseValue: Evict = {
  id: "value",
  values(view) {
    const reuse = nearTermReuse(view);
    return (entry) => (reuse.get(entry.id) ?? 0) * copySeconds(view.state.config.speeds, entry.tokens);
  },
};

/**
 * The same with the larger of n_a and soon_a: n_a sees one hop past what runs now, so a task in a tool that will call again has
 * none (K01).
 */
export const reuseValueSoon: Evict = {
  id: "value-soon",
  values(view) {
    const reuse = nearTermReuse(view);
    let soon: ReadonlyMap<EntryId, number> | null = null;
    return (entry) => {
      if (entry.kind !== "prefix") return 0;
      soon ??= soonUses(view);
      const uses = Math.max(reuse.get(entry.id) ?? 0, soon.get(entry.id) ?? 0);
      return uses * copySeconds(view.state.config.speeds, entry.tokens);
    };
  },
};
