import type { Graph } from "../events.ts";
import { loopGroups } from "./loop-groups.ts";

export type GraphProblem =
  | { readonly kind: "duplicateStage"; readonly members: readonly string[] }
  | { readonly kind: "unknownStage"; readonly members: readonly string[] }
  | { readonly kind: "selfLoop"; readonly members: readonly string[] }
  | { readonly kind: "undeclaredCycle"; readonly members: readonly string[] };

export type GraphCheck = { readonly ok: true } | { readonly ok: false; readonly problem: GraphProblem };

/** Refuses what no schedule can follow, naming the members (K66). Linear in stages and edges, not recursive. */
export function validateGraph(graph: Graph): GraphCheck {
  const ids = new Set<string>();
  const twice = new Set<string>();
  for (const stage of graph.stages) (ids.has(stage.id) ? twice : ids).add(stage.id);
  if (twice.size > 0) return bad("duplicateStage", [...twice]);

  const unknown = new Set<string>();
  for (const [from, to] of graph.edges) for (const id of [from, to]) if (!ids.has(id)) unknown.add(id);
  for (const loop of graph.loops ?? []) for (const id of loop.stages) if (!ids.has(id)) unknown.add(id);
  if (unknown.size > 0) return bad("unknownStage", [...unknown]);

  const group = loopGroups(graph);
  const self = graph.edges.filter(([from, to]) => from === to && !group.has(from)).map(([from]) => from);
  if (self.length > 0) return bad("selfLoop", [...new Set(self)]);

  const cycle = cycleMembers(graph, (id) => group.get(id) ?? id);
  return cycle.length > 0 ? bad("undeclaredCycle", cycle) : { ok: true };
}

function bad(kind: GraphProblem["kind"], members: readonly string[]): GraphCheck {
  return { ok: false, problem: { kind, members } };
}

/** Stages left after peeling sources and then sinks of the graph with declared loops contracted. */
function cycleMembers(graph: Graph, nodeOf: (stage: string) => string): string[] {
  const edges = graph.edges.map(([from, to]) => [nodeOf(from), nodeOf(to)] as const).filter(([from, to]) => from !== to);
  const left = new Set(graph.stages.map((stage) => nodeOf(stage.id)));
  peel(left, edges);
  peel(
    left,
    edges.map(([from, to]) => [to, from] as const),
  );
  return graph.stages.map((stage) => stage.id).filter((id) => left.has(nodeOf(id)));
}

function peel(left: Set<string>, edges: readonly (readonly [string, string])[]): void {
  const into = new Map<string, number>();
  const out = new Map<string, string[]>();
  for (const [from, to] of edges) {
    if (!left.has(from) || !left.has(to)) continue;
    into.set(to, (into.get(to) ?? 0) + 1);
    const list = out.get(from);
    if (list === undefined) out.set(from, [to]);
    else list.push(to);
  }
  const free = [...left].filter((id) => !into.has(id));
  for (let i = 0; i < free.length; i++) {
    const id = free[i]!;
    left.delete(id);
    for (const to of out.get(id) ?? []) {
      const n = into.get(to)! - 1;
      into.set(to, n);
      if (n === 0) free.push(to);
    }
  }
}
