import type { EntryId } from "../events.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { byId } from "./compare.ts";

export interface KeyTraits {
  /** Keys change as time passes. */
  readonly timeVarying?: boolean;
  /** Keys depend on what else is taken, so what is left is sorted again. */
  readonly residencyBound?: boolean;
}

export type Keys = (
  view: View,
  queue: readonly RequestState[],
  incoming: ReadonlySet<EntryId>,
) => (request: RequestState) => number | readonly number[];

/** Ascending by one number or several in turn; ties: tau_i, smaller need, id (algorithm 1.6). */
export function keyOrder(id: string, traits: KeyTraits, keys: Keys): KeyOrder {
  return {
    kind: "keys",
    id,
    timeVarying: traits.timeVarying === true,
    residencyBound: traits.residencyBound === true,
    sort(view, queue, incoming) {
      const key = keys(view, queue, incoming);
      const keyed = queue.map((request) => {
        const value = key(request);
        return { request, key: typeof value === "number" ? [value] : value };
      });
      keyed.sort((a, b) => compareKeys(a.key, b.key) || tie(view, a.request, b.request));
      return keyed.map(({ request }) => request);
    },
  };
}

function tie(view: View, a: RequestState, b: RequestState): number {
  return view.taskArrivalSeconds(a) - view.taskArrivalSeconds(b) || view.needTokens(a) - view.needTokens(b) || byId(a, b);
}

/** Lexicographic; NaN sorts last. */
function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) {
    const [left, right] = [sound(a[i]), sound(b[i])];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** Rounded to a nanounit, so that sums taken in another order are ties. */
function sound(key: number | undefined): number {
  if (key === undefined || Number.isNaN(key)) return Infinity;
  return Number.isFinite(key) && Math.abs(key) < 1e6 ? Math.round(key * 1e9) / 1e9 : key;
}
