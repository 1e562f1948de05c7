import type { CoreEvent, State } from "@topas/core";

type Listener = (state: State, event: CoreEvent) => void;

export interface Uses {
  /** Entries in the order in which calls were admitted on them. */
  readonly order: readonly string[];
  readonly onEvent: Listener;
}

/** Learns from a run in which order prefixes are used. */
export function recordUses(): Uses {
  const order: string[] = [];
  return { order, onEvent: (state, event) => order.push(...usedBy(state, event)) };
}

/**
 * Foretells the next use of an entry in another run of the same tasks: the order of uses of the first pass, one second a use. The
 * two schedules differ, so this is Belady's rule for the first one; which use of an entry is next is counted, not timed.
 */
export function replayUses(order: readonly string[]): {
  nextUseSeconds(this: void, entry: string): number | null;
  readonly onEvent: Listener;
} {
  const places = new Map<string, number[]>();
  order.forEach((entry, place) => places.set(entry, [...(places.get(entry) ?? []), place]));
  const used = new Map<string, number>();
  let [all, nowSeconds] = [0, 0];
  return {
    nextUseSeconds(entry) {
      const known = places.get(entry);
      if (known === undefined) return null;
      const place = known[used.get(entry) ?? 0];
      return place === undefined ? Infinity : nowSeconds + Math.max(0, place - all);
    },
    onEvent(state, event) {
      nowSeconds = event.at;
      for (const entry of usedBy(state, event)) {
        used.set(entry, (used.get(entry) ?? 0) + 1);
        all += 1;
      }
    },
  };
}

export function both(first: Listener, second: Listener): Listener {
  return (state, event) => {
    first(state, event);
    second(state, event);
  };
}

function usedBy(state: State, event: CoreEvent): string[] {
  if (event.kind !== "committed") return [];
  return event.decision.admit.flatMap(({ request }) => state.requests.get(request)?.prefix ?? []);
}
