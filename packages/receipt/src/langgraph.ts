import type { ReceiptContext } from "./encode.ts";
import type { Graph } from "./langgraph/graph.ts";

export { langgraphGraph, type Drawable, type Graph, type LangGraphGraph, type LangGraphOptions } from "./langgraph/graph.ts";

export interface LangGraphContextOptions {
  /** From {@link langgraphGraph}. Sent with every call of one of its stages; also tells how subgraph nodes are named. */
  readonly graph?: Graph;
  /** Name of the workflow. */
  readonly workflowId?: string;
  /** The graph was registered with `PUT /v1/workflows/{workflowId}`: calls carry the name only. */
  readonly declared?: boolean;
  /** Agent of a stage where it is not the stage's own name. Give {@link langgraphGraph} the same. */
  readonly agents?: Readonly<Record<string, string>>;
  /** The task of this run; by default the thread. Use it when one thread lives through many runs. */
  readonly taskId?: (metadata: Readonly<Record<string, unknown>>) => string | undefined;
}

/**
 * A `getContext` for `topasFetch`. `getConfig` is LangGraph's own: it returns the config of the node that runs in this async
 * scope. Outside a node, or without a thread, there is nothing to say and the call goes out without a receipt.
 */
export function langgraphContext(
  getConfig: () => unknown,
  options: LangGraphContextOptions = {},
): () => ReceiptContext | undefined {
  const { graph, workflowId, declared, agents } = options;
  const known = graph && new Set(graph.stages.map((stage) => stage.id));
  const workflow = workflowId === undefined ? {} : { workflowId };
  return () => {
    const metadata = record(record(getConfig())["metadata"]);
    const node = text(metadata["langgraph_node"]);
    if (node === undefined) return undefined;
    const taskId = options.taskId ? options.taskId(metadata) : text(metadata["thread_id"]);
    if (taskId === undefined) return undefined;
    const stage = stageOf(text(metadata["langgraph_checkpoint_ns"]), node, known);
    const branch = branchOf(metadata["langgraph_path"]);
    return {
      taskId,
      ...workflow,
      ...(graph && known?.has(stage) && declared !== true ? { graph } : {}),
      stage,
      agent: agents?.[stage] ?? stage,
      ...(branch === undefined ? {} : { sessionKey: `${stage}#${branch}` }),
    };
  };
}

/**
 * Path of node names, `outer:inner` as the x-ray graph writes them. A graph that shows a subgraph as one node gets the calls
 * of its inner nodes under that node. `ns` is `outer:<uuid>|inner:<uuid>`.
 */
function stageOf(ns: string | undefined, node: string, known: ReadonlySet<string> | undefined): string {
  const names = (ns ?? "").split("|").flatMap((part) => (part.includes(":") ? [part.slice(0, part.indexOf(":"))] : []));
  if (names.at(-1) !== node) return node;
  for (let end = names.length; known && end > 0; end--) {
    const path = names.slice(0, end).join(":");
    if (known.has(path)) return path;
  }
  return names.join(":");
}

/** Position of a branch started by `Send`: its private history is its own, and the same in the next round. */
function branchOf(path: unknown): number | undefined {
  if (!Array.isArray(path) || path[0] !== "__pregel_push") return undefined;
  return typeof path[1] === "number" ? path[1] : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
