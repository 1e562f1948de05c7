import type { Graph, GraphLoop } from "@topas/core";

/**
 * Two graphs of one task say different things about the same stage or the same loop. Growing is no contradiction: stages,
 * edges and loops that only one of them knows are new knowledge.
 */
export function contradicts(older: Graph, newer: Graph): boolean {
  const stages = new Map(
    older.stages.map((stage) => [stage.id, JSON.stringify([stage.agent, stage.rounds, stage.join ?? "all"])]),
  );
  const changed = newer.stages.some((stage) => {
    const before = stages.get(stage.id);
    return before !== undefined && before !== JSON.stringify([stage.agent, stage.rounds, stage.join ?? "all"]);
  });
  if (changed) return true;
  const loops = new Map((older.loops ?? []).map((loop) => [loopKey(loop), loop]));
  return (newer.loops ?? []).some((loop) => {
    const before = loops.get(loopKey(loop));
    return before !== undefined && (before.max !== loop.max || before.mean !== loop.mean);
  });
}

function loopKey(loop: GraphLoop): string {
  return JSON.stringify(loop.stages.toSorted());
}
