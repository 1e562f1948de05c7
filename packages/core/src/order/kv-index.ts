import { decideByIndex } from "../kv-index/decide.ts";
import { compareItems } from "../kv-index/item.ts";
import { SETTINGS_DEFAULTS, type IndexSettings } from "../kv-index/settings.ts";
import { buildIndex } from "../kv-index/store.ts";
import type { KeyOrder } from "../policy/policy.ts";

/**
 * The KV-area index (algorithm 5): serve the task that frees its remaining KV area soonest. Decides from its own structures;
 * `sort` recomputes every key and serves callers that only want an order.
 */
export function kvIndex(changes: Partial<IndexSettings> = {}): KeyOrder {
  const { kappa, difficulty, decline, declineBelow, declineHold, maxWaitSeconds, truth } = { ...SETTINGS_DEFAULTS, ...changes };
  const settings: IndexSettings = { kappa, difficulty, decline, declineBelow, declineHold, maxWaitSeconds, truth };
  return {
    kind: "keys",
    id: "kv-index",
    timeVarying: false,
    residencyBound: false,
    sort(view, queue) {
      const { items } = buildIndex(view.state, settings, view.reserve);
      return queue.toSorted((a, b) => compareItems(items.get(a.spec.id)!, items.get(b.spec.id)!));
    },
    decide: (state, policy, nowSeconds) => decideByIndex(state, policy, settings, nowSeconds),
  };
}
