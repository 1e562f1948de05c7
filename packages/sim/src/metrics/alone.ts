import { predecessors, type SimAgent, type SimTask } from "../task.ts";
import type { CallSeconds } from "../workload/capacity.ts";

/** Seconds of the longest path of a task, with waits, given what one call takes alone. */
export function aloneSeconds(task: SimTask, agents: readonly SimAgent[], callSeconds: CallSeconds): number {
  const prefixes = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  const before = predecessors(task);
  const ends = new Map<string, number>();
  const stages = new Map(task.stages.map((stage) => [stage.id, stage]));
  const endOf = (id: string): number => {
    const known = ends.get(id);
    if (known !== undefined) return known;
    const { agent, rounds } = stages.get(id)!;
    let at = Math.max(0, ...before.get(id)!.map(endOf));
    let historyTokens = 0;
    for (const { promptTokens, outputTokens, toolWaitSeconds } of rounds) {
      at +=
        callSeconds({ agent, prefixTokens: prefixes.get(agent) ?? 0, historyTokens, promptTokens, outputTokens }) +
        toolWaitSeconds;
      historyTokens += promptTokens + outputTokens;
    }
    ends.set(id, at);
    return at;
  };
  return Math.max(0, ...task.stages.map(({ id }) => endOf(id)));
}
