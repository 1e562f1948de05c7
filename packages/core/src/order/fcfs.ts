import type { KeyOrder } from "../policy/policy.ts";
import { byReady } from "./compare.ts";

/** First come, first served: (ready time, id). */
export const fcfs: KeyOrder = {
  kind: "keys",
  id: "fcfs",
  timeVarying: false,
  residencyBound: false,
  sort: (_view, queue) => queue.toSorted(byReady),
};
