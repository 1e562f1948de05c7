import type { Graph, GraphStage } from "../events.ts";
import { loopGroups } from "./loop-groups.ts";

/** A stage on its own, or a declared loop seen as one node. Indices are topological. */
export interface GraphNode {
  readonly stages: readonly GraphStage[];
  readonly loop: NodeLoop | null;
  readonly join: "all" | "any_success" | "all_done";
  readonly preds: readonly number[];
  readonly succs: readonly number[];
  readonly level: number;
}

export interface NodeLoop {
  readonly max: number;
  readonly mean: number;
  /** First stage of the declaration: where each round starts. */
  readonly head: string;
  /** Stages with an edge back to the head: a round ends there. */
  readonly tails: readonly string[];
  /** Edges of one round, by position in `stages`, always forward. */
  readonly forward: readonly (readonly [from: number, to: number])[];
  /** All edges inside the loop, back edges included. */
  readonly edges: readonly (readonly [from: string, to: string])[];
}

export interface CompiledGraph {
  readonly source: Graph;
  readonly nodes: readonly GraphNode[];
  readonly nodeOf: ReadonlyMap<string, number>;
  /** Position of each stage in one topological order (ties by declaration). */
  readonly topoIndex: ReadonlyMap<string, number>;
  /** What the graph says of each stage's length. */
  readonly declared: ReadonlyMap<string, DeclaredLengths>;
}

export interface DeclaredLengths {
  readonly rounds: { readonly max: number; readonly mean: number } | null;
  readonly serviceSeconds: number | null;
  readonly outputTokens: number | null;
}

/** Compiles a graph that `validateGraph` accepted. O(stages + edges); a barrier adds the edges between neighbouring levels. */
export function compileGraph(graph: Graph): CompiledGraph {
  const group = loopGroups(graph);
  const keyOf = (id: string): string => group.get(id) ?? id;
  const members = new Map<string, GraphStage[]>();
  for (const stage of graph.stages) {
    const list = members.get(keyOf(stage.id));
    if (list === undefined) members.set(keyOf(stage.id), [stage]);
    else list.push(stage);
  }
  const keys = [...members.keys()];
  const edges = graph.edges.map(([from, to]) => [keyOf(from), keyOf(to)] as const).filter(([from, to]) => from !== to);
  const { order, level } = topological(keys, edges);
  const indexOf = new Map(order.map((key, index) => [key, index]));

  const preds = order.map(() => new Set<number>());
  const link = (from: number, to: number): void => void preds[to]!.add(from);
  for (const [from, to] of edges) link(indexOf.get(from)!, indexOf.get(to)!);
  if (graph.barrier === true)
    linkLevels(
      order.map((key) => level.get(key)!),
      link,
    );
  const succs: number[][] = order.map(() => []);
  preds.forEach((from, to) => from.forEach((index) => succs[index]!.push(to)));

  const nodes = order.map((key, index): GraphNode => {
    const loop = loopOf(graph, members.get(key)!, (id) => keyOf(id) === key && group.has(id));
    return {
      stages: loop?.stages ?? members.get(key)!,
      loop: loop?.loop ?? null,
      join: members.get(key)![0]!.join ?? "all",
      preds: [...preds[index]!],
      succs: succs[index]!,
      level: level.get(key)!,
    };
  });
  const nodeOf = new Map<string, number>();
  const topoIndex = new Map<string, number>();
  nodes.forEach((node, index) =>
    node.stages.forEach((stage) => {
      nodeOf.set(stage.id, index);
      topoIndex.set(stage.id, topoIndex.size);
    }),
  );
  const declared = new Map(
    graph.stages.map((stage): [string, DeclaredLengths] => [
      stage.id,
      {
        rounds: stage.rounds ?? null,
        serviceSeconds: stage.serviceSeconds ?? null,
        outputTokens: stage.expectedOutputTokens ?? null,
      },
    ]),
  );
  return { source: graph, nodes, nodeOf, topoIndex, declared };
}

function topological(keys: readonly string[], edges: readonly (readonly [string, string])[]) {
  const into = new Map<string, number>(keys.map((key) => [key, 0]));
  const out = new Map<string, string[]>(keys.map((key) => [key, []]));
  for (const [from, to] of edges) {
    into.set(to, into.get(to)! + 1);
    out.get(from)!.push(to);
  }
  const level = new Map<string, number>();
  const order = keys.filter((key) => into.get(key) === 0);
  for (const key of order) level.set(key, 0);
  for (let i = 0; i < order.length; i++) {
    const key = order[i]!;
    for (const to of out.get(key)!) {
      level.set(to, Math.max(level.get(to) ?? 0, level.get(key)! + 1));
      const n = into.get(to)! - 1;
      into.set(to, n);
      if (n === 0) order.push(to);
    }
  }
  return { order, level };
}

function linkLevels(levels: readonly number[], link: (from: number, to: number) => void): void {
  const byLevel: number[][] = [];
  levels.forEach((level, index) => (byLevel[level] ??= []).push(index));
  for (let level = 1; level < byLevel.length; level++)
    for (const to of byLevel[level]!) for (const from of byLevel[level - 1]!) link(from, to);
}

function loopOf(graph: Graph, members: readonly GraphStage[], inside: (id: string) => boolean) {
  if (!inside(members[0]!.id)) return null;
  const declared = (graph.loops ?? []).filter((loop) => loop.stages.some(inside));
  const names = [...new Set(declared.flatMap((loop) => loop.stages))];
  const byId = new Map(members.map((stage) => [stage.id, stage]));
  const position = new Map(names.map((id, index) => [id, index]));
  const edges = graph.edges.filter(([from, to]) => position.has(from) && position.has(to));
  const head = names[0]!;
  const tails = [...new Set(edges.filter(([, to]) => to === head).map(([from]) => from))];
  return {
    stages: names.map((id) => byId.get(id)!),
    loop: {
      max: Math.max(1, ...declared.map((loop) => loop.max)),
      mean: Math.max(1, ...declared.map((loop) => loop.mean)),
      head,
      tails: tails.length > 0 ? tails : [names[names.length - 1]!],
      forward: edges
        .map(([from, to]) => [position.get(from)!, position.get(to)!] as const)
        .filter(([from, to]) => from < to)
        .toSorted((a, b) => a[0] - b[0]),
      edges,
    } satisfies NodeLoop,
  };
}
