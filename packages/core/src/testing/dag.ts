import * as fc from "fast-check";
import type { Graph } from "../events.ts";
import { feasible } from "../feasible.ts";
import type { World } from "./world.ts";
import { arrive, call } from "./builders.ts";
import { deciding } from "./world.ts";

export interface DagTask {
  readonly graph: Graph;
  readonly own: readonly number[];
  readonly out: readonly number[];
}

const PREFIX_TOKENS = [0, 16, 300, 700];

/** A random acyclic task of at most six stages over four agents. */
export const dagTask: fc.Arbitrary<DagTask> = fc.integer({ min: 1, max: 6 }).chain((n) => {
  const each = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { minLength: n, maxLength: n });
  return fc
    .record({
      agents: each(fc.nat({ max: 3 })),
      own: each(fc.integer({ min: 1, max: 300 })),
      out: each(fc.integer({ min: 1, max: 120 })),
      seconds: each(fc.option(fc.integer({ min: 0, max: 20 }), { nil: undefined })),
      links: each(fc.array(fc.nat({ max: 5 }), { maxLength: 3 })),
      join: each(fc.constantFrom("all" as const, "any_success" as const, "all_done" as const)),
      barrier: fc.boolean(),
    })
    .map(({ agents, own, out, seconds, links, join, barrier }) => ({
      own,
      out,
      graph: {
        barrier,
        stages: agents.map((agent, i) => ({
          id: `s${i}`,
          agent: `a${agent}`,
          join: join[i]!,
          ...(seconds[i] === undefined ? {} : { serviceSeconds: seconds[i] }),
        })),
        edges: links.flatMap((from, to) => [...new Set(from)].filter((i) => i < to).map((i) => [`s${i}`, `s${to}`] as const)),
      },
    }));
});

/** Plays tasks to their end: a call is sent as soon as its stage is ready. Returns the ticks it took, or null when stuck. */
export function playDags(world: World, tasks: readonly DagTask[], mostTicks: number): number | null {
  const { state } = world;
  const sent = new Set<string>();
  tasks.forEach((task, i) => arrive(state, world.nowSeconds, `t${i}`, task.graph));
  for (let tick = 0; tick < mostTicks; tick++) {
    let open = 0;
    tasks.forEach((task, i) => {
      const known = state.tasks.get(`t${i}`)!;
      task.graph.stages.forEach(({ id, agent }, s) => {
        const stage = known.stages.get(id)!;
        if (stage.status !== "done") open += 1;
        const name = `t${i}-${id}`;
        if (stage.status !== "ready" || sent.has(name)) return;
        sent.add(name);
        const tokens = PREFIX_TOKENS[Number(agent.slice(1))]!;
        const prefix = tokens === 0 ? {} : { prefix: [agent, tokens] as const };
        const spec = call(name, {
          task: `t${i}`,
          stage: id,
          agent,
          own: task.own[s]!,
          max: task.out[s]!,
          output: task.out[s]!,
          ...prefix,
        });
        const size = { prefixTokens: tokens, ownPromptTokens: spec.ownPromptTokens, maxTokens: spec.maxTokens };
        if (!feasible({ ...state.config, failsOnOverflow: true }, size).ok) throw new Error(`${name} cannot fit`);
        deciding(world, { kind: "ready", at: world.nowSeconds, request: spec });
      });
    });
    if (open === 0) return tick;
    world.tick(1, 128);
  }
  return null;
}
