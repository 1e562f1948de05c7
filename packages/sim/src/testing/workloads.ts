import type { Graph } from "@topas/core";
import { createRng } from "../rng.ts";
import type { SimAgent, SimTask } from "../task.ts";

/** Independent single calls without a shared prefix. */
export function flatTasks(count: number, promptTokens: number, outputTokens: number, gapSeconds = 0): SimTask[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `r${String(i).padStart(5, "0")}`,
    arrivalSeconds: i * gapSeconds,
    workflow: null,
    graph: null,
    stages: [{ id: "call", agent: "plain", rounds: [{ promptTokens, outputTokens, toolWaitSeconds: 0 }] }],
  }));
}

export const PLAIN: SimAgent = { name: "plain", prefixTokens: 0 };

/** Tasks of random shape: chains and forks over a few agents, several rounds, tool waits. */
export function randomTasks(seed: number, count: number, perSecond: number): { agents: SimAgent[]; tasks: SimTask[] } {
  const rng = createRng(seed);
  const agents = Array.from({ length: 3 }, (_, i) => ({ name: `agent${i}`, prefixTokens: 200 + 333 * i }));
  let at = 0;
  const tasks = Array.from({ length: count }, (_, i): SimTask => {
    at += rng.exponential(1 / perSecond);
    const fork = rng.float() < 0.5;
    const names = fork ? ["a", "b", "c", "d"] : ["a", "b", "c"];
    const edges: [string, string][] = fork
      ? [
          ["a", "b"],
          ["a", "c"],
          ["b", "d"],
          ["c", "d"],
        ]
      : [
          ["a", "b"],
          ["b", "c"],
        ];
    const stages = names.map((id) => ({
      id,
      agent: `agent${rng.int(3)}`,
      rounds: Array.from({ length: 1 + rng.int(3) }, () => ({
        promptTokens: 1 + rng.int(150),
        outputTokens: 1 + rng.int(90),
        toolWaitSeconds: rng.float() < 0.5 ? 0 : rng.exponential(0.5),
      })),
    }));
    const graph: Graph = {
      stages: stages.map(({ id, agent, rounds }) =>
        rounds.length > 1 ? { id, agent, rounds: { max: 3, mean: 2 } } : { id, agent },
      ),
      edges,
    };
    return { id: `t${String(i).padStart(4, "0")}`, arrivalSeconds: at, workflow: "random", graph, stages };
  });
  return { agents, tasks };
}
