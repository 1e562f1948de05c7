import type { CompiledGraph, GraphNode } from "../graph/compile.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { View } from "../view.ts";
import { classOrder } from "./plas.ts";
import { completedSeconds, servedSeconds } from "./service.ts";

/**
 * max over the call's parents of path(parent), path(c) = max path of parents + own service, seconds (ATLAS; vector V21).
 * Earlier rounds of the same stage or loop are parents too. Parents unknown: what the program completed so far.
 */
export function criticalSeconds(view: View, request: RequestState): number {
  const task = view.state.tasks.get(request.spec.task);
  const graph = task?.graph ?? null;
  const index = graph?.nodeOf.get(request.spec.stage);
  if (task === undefined || graph === null || index === undefined) return completedSeconds(view, request);
  const before = pathBefore(task, graph, index, new Map());
  const rounds = ownSeconds(task, graph.nodes[index]!) - servedSeconds(view, request);
  return before + Math.max(0, rounds);
}

function pathBefore(task: TaskState, graph: CompiledGraph, index: number, known: Map<number, number>): number {
  let longest = 0;
  for (const pred of graph.nodes[index]!.preds) {
    let path = known.get(pred);
    if (path === undefined) {
      path = pathBefore(task, graph, pred, known) + ownSeconds(task, graph.nodes[pred]!);
      known.set(pred, path);
    }
    longest = Math.max(longest, path);
  }
  return longest;
}

function ownSeconds(task: TaskState, node: GraphNode): number {
  return node.stages.reduce((sum, stage) => sum + (task.stages.get(stage.id)?.attainedSeconds ?? 0), 0);
}

/** ATLAS: as PLAS with the critical path of what was served instead of its sum. */
export const atlas = (options: AllOptions): KeyOrder => classOrder("atlas", options, criticalSeconds);
