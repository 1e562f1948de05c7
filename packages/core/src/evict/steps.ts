import { stepsToUse } from "../estimate/reuse.ts";
import type { Evict } from "../policy/policy.ts";

/**
 * KVFlow (arXiv 2507.07400): the prefix with most steps to its next use leaves first, ties least recently used. Prefetch:
 * host copies of agents one step away while nothing else is being prefetched; one that is waited for loads with its admission.
 */
export const steps: Evict = {
  id: "steps",
  values(view) {
    const distance = stepsToUse(view);
    return (entry) => {
      const away = distance.get(entry.kind === "session" && entry.base !== null ? entry.base : entry.id);
      return away === undefined ? 0 : 1 / (1 + away);
    };
  },
  prefetch(view) {
    const entries = [...view.state.entries.values()];
    if (!view.state.config.hostTier || entries.some((entry) => entry.phase === "loading" && entry.loadFor === "prefetch"))
      return [];
    const distance = stepsToUse(view);
    return entries
      .filter((e) => e.kind === "prefix" && e.phase === "absent" && e.onHost && distance.get(e.id) === 1)
      .toSorted((a, b) => b.lastUseSeq - a.lastUseSeq || (a.id < b.id ? -1 : 1));
  },
};
