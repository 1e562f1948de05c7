import type { Graph } from "../events.ts";

/** Stage -> head of the declared loop it belongs to. Loops that share a stage are one. Stages outside loops are absent. */
export function loopGroups(graph: Graph): Map<string, string> {
  const head = new Map<string, string>();
  for (const loop of graph.loops ?? []) {
    const first = loop.stages[0];
    if (first === undefined) continue;
    const shared = new Set<string>();
    for (const id of loop.stages) {
      const known = head.get(id);
      if (known !== undefined) shared.add(known);
    }
    const target = shared.values().next().value ?? first;
    for (const [id, known] of head) if (shared.has(known)) head.set(id, target);
    for (const id of loop.stages) head.set(id, target);
  }
  return head;
}
