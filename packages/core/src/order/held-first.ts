import type { KeyOrder } from "../policy/policy.ts";
import { byTask } from "./compare.ts";

/** Continuum (arXiv 2511.02230): programs whose KV is held go first, then the oldest task. */
export const heldFirst: KeyOrder = {
  kind: "keys",
  id: "held-first",
  timeVarying: false,
  residencyBound: false,
  sort(view, queue) {
    const held = new Set(queue.filter((request) => view.sessionOf(request) !== null));
    const ties = byTask(view);
    return queue.toSorted((a, b) => Number(held.has(b)) - Number(held.has(a)) || ties(a, b));
  },
};
