import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import { byId, byReady } from "./compare.ts";

/** First come, first served: (ready time, id). A preempted request keeps its place (vLLM: head). */
export const fcfs: KeyOrder = {
  kind: "keys",
  id: "fcfs",
  timeVarying: false,
  residencyBound: false,
  sort: (_view, queue) => queue.toSorted(byReady),
};

/** fcfs whose preempted requests go to the tail (SGLang): they count from the instant at which they left the engine. */
export const fcfsTail: KeyOrder = {
  ...fcfs,
  id: "fcfs-tail",
  sort: (_view, queue) => queue.toSorted((a, b) => queuedSeconds(a) - queuedSeconds(b) || byId(a, b)),
};

function queuedSeconds(request: RequestState): number {
  return Math.max(request.readySeconds, request.cooldownSeconds ?? request.readySeconds);
}
