import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { fcfs } from "./fcfs.ts";
import { agentKey } from "./partition.ts";

/**
 * Downstream gating (Fig. 1 of the TOPAS paper, a strawman): only the most downstream agent with at least `gateRequests`
 * ready or running requests is served; none has as many: the one served last stays. An idle engine serves the most
 * downstream one.
 */
export function downstreamGate(options: AllOptions): KeyOrder {
  return {
    ...fcfs,
    id: "downstream-gate",
    gate(view) {
      const served = servedAgent(view, options.gateRequests);
      return { refuse: (request) => (agentKey(request) === served ? null : "outranked"), take: () => {} };
    },
  };
}

function servedAgent(view: View, theta: number): string | null {
  const agents = new Map<string, { count: number; depth: number }>();
  for (const request of [...view.waiting, ...view.running]) {
    const agent = agents.get(agentKey(request)) ?? { count: 0, depth: -1 };
    agent.count += 1;
    agent.depth = Math.max(agent.depth, view.topoIndex(request));
    agents.set(agentKey(request), agent);
  }
  const downstream = [...agents].toSorted(([a, x], [b, y]) => y.depth - x.depth || (a < b ? -1 : 1));
  const busy = downstream.find(([, { count }]) => count >= theta);
  if (busy !== undefined) return busy[0];
  const last = view.running.reduce<RequestState | null>((a, b) => (a === null || b.admitSeq > a.admitSeq ? b : a), null);
  return last === null ? (downstream[0]?.[0] ?? null) : agentKey(last);
}
