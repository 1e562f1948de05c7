import type { Graph, GraphStage, TaskHints } from "@topas/core";
import type { Receipt, Stage, Workflow } from "@topas/receipt";
import { inSeconds, toMonotonicSeconds } from "./age.ts";
import { scopedId } from "./frame.ts";

/** Wire graph to core graph. Stage ids stay as they are (they live inside one task); agents stay as the client names them. */
export function toGraph(workflow: Workflow): Graph {
  return {
    stages: workflow.stages.map(toStage),
    edges: uniqueEdges(workflow.edges ?? []),
    ...(workflow.loops ? { loops: workflow.loops } : {}),
    ...(workflow.barrier == null ? {} : { barrier: workflow.barrier }),
  };
}

/** The same graph with agents named as `CallIdentity.agent` names them. */
export function scopeAgents(tenant: string, graph: Graph): Graph {
  return { ...graph, stages: graph.stages.map((stage) => ({ ...stage, agent: scopedId(tenant, stage.agent) })) };
}

function toStage(stage: Stage): GraphStage {
  return {
    id: stage.id,
    agent: stage.agent ?? stage.id,
    ...(stage.rounds ? { rounds: stage.rounds } : {}),
    ...(stage.join ? { join: stage.join } : {}),
    ...(stage.expectedService ? { serviceSeconds: inSeconds(stage.expectedService) } : {}),
    ...(stage.expectedOutputTokens ? { expectedOutputTokens: stage.expectedOutputTokens.value } : {}),
  };
}

function uniqueEdges(edges: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const seen = new Map<string, Set<string>>();
  return edges.filter(([from, to]) => {
    const targets = seen.get(from) ?? new Set();
    seen.set(from, targets);
    return targets.size < targets.add(to).size;
  });
}

/** Declared estimates in core's units; null: none declared. Remaining path in calls has no place in core and is left out. */
export function toHints(receipt: Receipt, nowMs: number, nowSeconds: number): TaskHints | null {
  const { remainingPath: path, remainingWork: work } = receipt;
  const toolWaitEnd = receipt.toolWait ? toMonotonicSeconds(receipt.toolWait.expectedEnd, nowMs, nowSeconds) : null;
  const hints: TaskHints = {
    ...(path && path.unit !== "calls" ? { remainingPathSeconds: inSeconds({ value: path.value, unit: path.unit }) } : {}),
    ...(work && work.unit !== "calls" ? { remainingWorkSeconds: inSeconds({ value: work.value, unit: work.unit }) } : {}),
    ...(receipt.expectedOutputTokens ? { expectedOutputTokens: receipt.expectedOutputTokens.value } : {}),
    ...(receipt.kvReservation ? { reserveTokens: receipt.kvReservation.value } : {}),
    ...(receipt.expectedReuse ? { nearTermReuse: receipt.expectedReuse.value } : {}),
    ...(toolWaitEnd === null ? {} : { toolWaitEndSeconds: toolWaitEnd }),
    ...(receipt.readyStages ? { readyStages: receipt.readyStages } : {}),
  };
  return Object.keys(hints).length > 0 ? hints : null;
}
