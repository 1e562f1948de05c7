import type { Evict } from "../policy/policy.ts";
import { rebuildSeconds, useShare } from "./session.ts";

const KEEP_BELOW = 0.7;

/**
 * Astraea-like retention: sessions stay, by what rebuilding them costs, while less than 0.7 of the budget is in use; above
 * that they are ordinary entries, least recently used first. Core has no host copy of a session, so none is swapped out.
 */
export const keepBelow: Evict = {
  id: "keep-below",
  values(view) {
    const keep = useShare(view) < KEEP_BELOW;
    return (entry) => (entry.kind === "session" && keep ? rebuildSeconds(view, entry) : 0);
  },
};
