import type { ReceiptContext } from "../encode.ts";
import { inOrder, loopsOf, reachOf, type Links } from "./loops.ts";

/** A receipt's graph as it is sent. */
export type Graph = NonNullable<ReceiptContext["graph"]>;

/** What `await app.getGraphAsync({ xray: true })` returns, as far as it is read here. */
export interface Drawable {
  readonly nodes: Readonly<Record<string, unknown>>;
  readonly edges: readonly { readonly source: string; readonly target: string; readonly conditional?: boolean }[];
}

export interface LangGraphOptions {
  /** Agent of a node where it is not the node's own name. */
  readonly agents?: Readonly<Record<string, string>>;
  /** Nodes that make no model call (tools, routers). They are left out and their neighbours joined. */
  readonly silent?: readonly string[];
  /** Laps of every loop. By default `max` is the recursion limit and `mean` 1. */
  readonly laps?: { readonly max: number; readonly mean: number };
  /** As the graph is invoked with; 25 is LangGraph's own default. */
  readonly recursionLimit?: number;
}

export interface LangGraphGraph {
  readonly graph: Graph;
  /**
   * What the longest path through `graph` says of the calls still to come, one call a stage. `exact`: every stage runs once.
   * `at-most`: some branches will not be taken. `at-least`: a loop counts one lap and may make more. `estimate`: both, or laps
   * were declared.
   */
  readonly path: "exact" | "at-most" | "at-least" | "estimate";
}

const ENDS: ReadonlySet<string> = new Set(["__start__", "__end__"]);

/**
 * LangGraph's static graph as a receipt's graph; convert once, after `compile()`. Cycles become declared loops, a cycle through
 * silent nodes alone becomes rounds of its one stage, and `barrier` says that super-steps wait for their siblings. What is not
 * drawn is not here: `Send` shows as one stage however many branches it starts, a `Command` only as its node's `ends`,
 * and a conditional edge without a path map as an edge to every other node.
 */
export function langgraphGraph(drawn: Drawable, options: LangGraphOptions = {}): LangGraphGraph {
  const silent = new Set(options.silent);
  const links = linksOf(drawn);
  for (const id of silent) leaveOut(links, id);
  const rounds = new Set([...links].filter(([id, to]) => to.delete(id)).map(([id]) => id));

  const ids = [...links.keys()].filter((id) => !ENDS.has(id));
  const loops = loopsOf(ids, reachOf(links)).map((members) => inOrder(members, links));
  const laps = options.laps ?? { max: options.recursionLimit ?? 25, mean: 1 };
  const edges = ids.flatMap((from) =>
    [...links.get(from)!].filter((to) => !ENDS.has(to)).map((to): [string, string] => [from, to]),
  );
  const branches = chooses(drawn);
  const repeats = loops.length > 0 || rounds.size > 0;
  return {
    graph: {
      stages: ids.map((id) => ({
        id,
        ...(options.agents?.[id] === undefined ? {} : { agent: options.agents[id] }),
        ...(rounds.has(id) ? { rounds: laps } : {}),
      })),
      edges,
      ...(loops.length > 0 ? { loops: loops.map((stages) => ({ stages, ...laps })) } : {}),
      barrier: true,
    },
    path: repeats ? (branches || options.laps ? "estimate" : "at-least") : branches ? "at-most" : "exact",
  };
}

function linksOf(drawn: Drawable): Links {
  const links: Links = new Map(Object.keys(drawn.nodes).map((id) => [id, new Set<string>()]));
  for (const { source, target } of drawn.edges) links.get(source)?.add(target);
  return links;
}

function leaveOut(links: Links, id: string): void {
  const after = links.get(id);
  if (after === undefined || ENDS.has(id)) return;
  links.delete(id);
  for (const to of links.values()) if (to.delete(id)) for (const next of after) if (next !== id) to.add(next);
}

/** True when some node picks one of several ways on; to run a loop once more or to leave it is not such a choice. */
function chooses(drawn: Drawable): boolean {
  const reach = reachOf(linksOf(drawn));
  const ways = new Map<string, { on: Set<string>; back: Set<string> }>();
  for (const { source, target, conditional } of drawn.edges) {
    if (conditional !== true) continue;
    const seen = ways.get(source) ?? { on: new Set(), back: new Set() };
    ways.set(source, seen);
    seen[reach.get(target)?.has(source) ? "back" : "on"].add(target);
  }
  return [...ways.values()].some(({ on, back }) => on.size > 1 || back.size > 1);
}
