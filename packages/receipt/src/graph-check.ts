import type { ReceiptCode } from "./codes.ts";
import type { Workflow } from "./v1/workflow.ts";

export interface GraphIssue {
  readonly code: Extract<ReceiptCode, "duplicate_stage" | "unknown_stage" | "self_edge" | "loop_bounds" | "undeclared_cycle">;
  /** Names the members and the fix. */
  readonly message: string;
  /** Ids of the stages concerned; for a cycle in order, at most 50. */
  readonly members: readonly string[];
}

const MEMBERS_SHOWN = 50;

/** What the schema cannot say about a graph; null: it is sound. Linear in stages and edges, without recursion (K66, K67). */
export function checkGraph(graph: Workflow): GraphIssue | null {
  const index = new Map<string, number>();
  for (const stage of graph.stages) {
    if (index.has(stage.id))
      return issue("duplicate_stage", `graph.stages: two stages are called ${quote(stage.id)}; give each its own id`, [stage.id]);
    index.set(stage.id, index.size);
    if (stage.rounds && stage.rounds.mean > stage.rounds.max)
      return bounds(`graph.stages ${quote(stage.id)}: rounds.mean`, [stage.id]);
  }
  const looped = new Set((graph.loops ?? []).flatMap((loop) => loop.stages));
  for (const [from, to] of graph.edges ?? []) {
    const missing = [from, to].find((id) => !index.has(id));
    if (missing !== undefined) return unknown(`edge ${quote(from)} > ${quote(to)}`, missing);
    if (from === to && !looped.has(from))
      return issue("self_edge", `graph.edges: ${quote(from)} leads to itself; give the stage rounds or declare a loop`, [from]);
  }
  for (const loop of graph.loops ?? []) {
    const missing = loop.stages.find((id) => !index.has(id));
    if (missing !== undefined) return unknown(`loop over ${loop.stages.slice(0, 5).map(quote).join(", ")}`, missing);
    if (loop.mean > loop.max) return bounds("graph.loops: mean", loop.stages.slice(0, MEMBERS_SHOWN));
  }
  return undeclaredCycle(graph, index);
}

/** Declared loops are merged into one node each (overlapping ones together); what is left must be acyclic. */
function undeclaredCycle(graph: Workflow, index: ReadonlyMap<string, number>): GraphIssue | null {
  const at = (id: string): number => index.get(id) ?? 0;
  const group = Array.from({ length: index.size }, (_, i) => i);
  const root = (i: number): number => {
    let r = i;
    while (group[r] !== r) r = group[r] ?? r;
    for (let k = i; k !== r;) {
      const next = group[k] ?? r;
      group[k] = r;
      k = next;
    }
    return r;
  };
  for (const loop of graph.loops ?? []) {
    const first = root(at(loop.stages[0] ?? ""));
    for (const id of loop.stages) group[root(at(id))] = first;
  }

  const after: [to: number, edge: number][][] = Array.from({ length: index.size }, () => []);
  const open = new Int32Array(index.size);
  const edges = graph.edges ?? [];
  edges.forEach(([from, to], edge) => {
    const [a, b] = [root(at(from)), root(at(to))];
    if (a === b) return;
    after[a]?.push([b, edge]);
    open[b] = (open[b] ?? 0) + 1;
  });
  const queue: number[] = [];
  for (let i = 0; i < index.size; i++) if (group[i] === i && open[i] === 0) queue.push(i);
  for (let head = 0; head < queue.length; head++) {
    for (const [to] of after[queue[head] ?? 0] ?? []) {
      const left = (open[to] ?? 0) - 1;
      open[to] = left;
      if (left === 0) queue.push(to);
    }
  }

  // Whoever is still open has a predecessor that is still open, so walking backwards must meet itself.
  const cameBy = new Map<number, readonly [from: number, edge: number]>();
  for (let i = 0; i < index.size; i++) {
    if (group[i] !== i || open[i] === 0) continue;
    for (const [to, edge] of after[i] ?? []) if ((open[to] ?? 0) > 0) cameBy.set(to, [i, edge]);
  }
  const start = cameBy.keys().next();
  if (start.done) return null;
  const seen = new Map<number, number>();
  const path: number[] = [];
  for (let node = start.value; ;) {
    const before = seen.get(node);
    if (before !== undefined) return cycle(path.slice(before).toReversed(), edges);
    seen.set(node, path.length);
    const step = cameBy.get(node);
    if (!step) return null;
    path.push(step[1]);
    node = step[0];
  }
}

function cycle(path: readonly number[], edges: NonNullable<Workflow["edges"]>): GraphIssue {
  const members = [...new Set(path.flatMap((edge) => edges[edge] ?? []))];
  const names = members.slice(0, 8).map(quote).join(" > ");
  const more = members.length > 8 ? ` > … (${members.length} stages)` : "";
  return issue(
    "undeclared_cycle",
    `graph.edges: cycle ${names}${more} > ${quote(members[0] ?? "")}; declare it in graph.loops or remove an edge`,
    members,
  );
}

function unknown(where: string, id: string): GraphIssue {
  return issue(
    "unknown_stage",
    `graph: ${where} names ${quote(id)}, which is not in graph.stages; add the stage or correct the id`,
    [id],
  );
}

function bounds(where: string, members: readonly string[]): GraphIssue {
  return issue("loop_bounds", `${where} exceeds max; send mean <= max`, members);
}

function issue(code: GraphIssue["code"], message: string, members: readonly string[]): GraphIssue {
  return { code, message, members: members.slice(0, MEMBERS_SHOWN) };
}

function quote(id: string): string {
  return JSON.stringify(id.length > 40 ? `${id.slice(0, 40)}…` : id);
}
