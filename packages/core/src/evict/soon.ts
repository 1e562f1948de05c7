import { soonUses } from "../estimate/reuse.ts";
import type { Evict } from "../policy/policy.ts";
import { sessionStage } from "./session.ts";

/** Fewest uses expected soon leave first: soon_a for a prefix, the chance of another round for a session (algorithm 2.9). */
export const soon: Evict = {
  id: "soon",
  values(view) {
    const uses = soonUses(view);
    return (entry) => {
      if (entry.kind === "prefix") return uses.get(entry.id) ?? 0;
      const owner = sessionStage(view.state, entry);
      return owner === null ? 0 : view.estimator.anotherRoundProbability(owner.task, owner.stage);
    };
  },
};
