import { copySeconds } from "../estimate/cost.ts";
import { existingIndex } from "../kv-index/hooks.ts";
import { buildIndex, type KvIndex } from "../kv-index/store.ts";
import { SETTINGS_DEFAULTS } from "../kv-index/settings.ts";
import { soonOf } from "../kv-index/wanted.ts";
import type { Evict } from "../policy/policy.ts";
import type { EntryState, State } from "../state.ts";

/** Uses of a session whose wait has outlasted the 95th percentile of its tool. */
const LATE_USES = 0.1;

/**
 * value(e) = uses * rebuildSeconds / tokens, lowest leaves first (algorithm 5.6). Prefix: soon_a times a copy from host, or its
 * prefill. Session: one use until its wait passes the tool's 95th percentile. So host-backed prefixes leave before sessions.
 */
export const value: Evict = {
  id: "kv-value",
  values: (view) =>
    indexValues(existingIndex(view.state) ?? buildIndex(view.state, SETTINGS_DEFAULTS, view.reserve), view.nowSeconds),
};

/** The same from an index that is at hand. */
export function indexValues(index: KvIndex, nowSeconds: number): (entry: EntryState) => number {
  const { state } = index;
  return (entry) => {
    if (entry.tokens <= 0) return 0;
    if (entry.kind === "session") return sessionUses(index, entry, nowSeconds) * perToken(state, false);
    return soonOf(index, entry.id) * perToken(state, entry.onHost || state.config.hostTier);
  };
}

function sessionUses(index: KvIndex, entry: EntryState, nowSeconds: number): number {
  const patience = entry.task === null ? undefined : index.tasks.get(entry.task)?.patienceSeconds;
  return patience !== undefined && nowSeconds - entry.lastUseSeconds <= patience ? 1 : LATE_USES;
}

/** Rebuild seconds per token: over the copy channel when a host copy will be there, else by prefilling, whichever is cheaper. */
function perToken(state: State, fromHost: boolean): number {
  const prefill = state.config.speeds.prefillSecondsPerToken;
  if (!fromHost) return prefill;
  const copy = copySeconds(state.config.speeds, 1);
  return copy > 0 ? Math.min(copy, prefill) : prefill;
}
