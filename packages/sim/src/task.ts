import type { Graph } from "@topas/core";

/** An agent: one static prefix (system prompt and tools) shared by every call of that agent. */
export interface SimAgent {
  readonly name: string;
  readonly prefixTokens: number;
}

/** One LLM call of a stage. */
export interface SimRound {
  /** Prompt tokens not already in this stage's own KV: task input, predecessor output, tool result. */
  readonly promptTokens: number;
  /** Realised output; hidden from policies. */
  readonly outputTokens: number;
  /** The client's limit, on which engines reserve; default: the realised output. */
  readonly maxTokens?: number;
  /** Wait after this round, before the next one (or before the stage is over, for the last). */
  readonly toolWaitSeconds: number;
}

export interface SimStage {
  readonly id: string;
  readonly agent: string;
  readonly rounds: readonly SimRound[];
  /** True predecessors. Default: the edges of the task's graph; without a graph, the stage before in the list. */
  readonly after?: readonly string[];
}

/** One multi-agent task. `graph` is what a policy may see at arrival; `stages` is what really happens. */
export interface SimTask {
  readonly id: string;
  readonly arrivalSeconds: number;
  readonly workflow: string | null;
  readonly tenant?: string;
  readonly graph: Graph | null;
  readonly stages: readonly SimStage[];
}

/** Predecessors of every stage. @throws RangeError for an unknown or cyclic predecessor. */
export function predecessors(task: SimTask): ReadonlyMap<string, readonly string[]> {
  const out = new Map<string, readonly string[]>();
  task.stages.forEach((stage, index) => {
    const before = task.stages[index - 1];
    const edges = task.graph?.edges.filter(([, to]) => to === stage.id).map(([from]) => from);
    out.set(stage.id, stage.after ?? edges ?? (before === undefined ? [] : [before.id]));
  });
  const open = new Map(out);
  for (let found = true; found;) {
    found = false;
    for (const [id, before] of open) {
      if (before.some((other) => open.has(other) || !out.has(other))) continue;
      open.delete(id);
      found = true;
    }
  }
  if (open.size > 0) throw new RangeError(`task ${task.id}: stages ${[...open.keys()].join(", ")} can never start`);
  return out;
}
