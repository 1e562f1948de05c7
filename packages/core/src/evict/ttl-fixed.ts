import type { AllOptions } from "../policy/baseline-options.ts";
import type { Evict } from "../policy/policy.ts";
import type { EntryState } from "../state.ts";
import type { View } from "../view.ts";
import { waitsOf, wantedSessions } from "./session.ts";

/** Seconds a session is kept: `ttlSeconds` iff the mean wait of its tool is at most as long or unknown, else 0. */
export function fixedSecondsToKeep(waits: readonly number[], ttlSeconds: number): number {
  if (waits.length === 0) return ttlSeconds;
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  return mean <= ttlSeconds ? ttlSeconds : 0;
}

/**
 * Continuum as released (arXiv 2511.02230): session KV is kept for a fixed time after a round, while its next round waits
 * for admission in any case, and else dropped; within that time it leaves last, and everything else least recently used.
 */
export function ttlFixed(options: AllOptions): Evict {
  const endsAt = (view: View, entry: EntryState): number =>
    entry.lastUseSeconds + fixedSecondsToKeep(waitsOf(view, entry), options.ttlSeconds);
  const lapsed = (view: View, wanted: ReadonlySet<EntryState>, entry: EntryState): boolean =>
    !wanted.has(entry) && endsAt(view, entry) <= view.nowSeconds;
  const sessions = (view: View): EntryState[] =>
    [...view.state.entries.values()].filter((entry) => entry.kind === "session" && entry.phase === "resident");
  return {
    id: "ttl-fixed",
    values(view) {
      const wanted = wantedSessions(view);
      return (entry) => (entry.kind === "session" && !lapsed(view, wanted, entry) ? 1 : 0);
    },
    expired(view) {
      const wanted = wantedSessions(view);
      return sessions(view).filter((entry) => lapsed(view, wanted, entry));
    },
    expiresAtSeconds(view) {
      const wanted = wantedSessions(view);
      const ends = sessions(view)
        .filter((entry) => !wanted.has(entry))
        .map((entry) => endsAt(view, entry))
        .filter((end) => end > view.nowSeconds);
      return ends.length === 0 ? null : Math.min(...ends);
    },
  };
}
