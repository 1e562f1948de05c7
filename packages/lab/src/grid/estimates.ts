import type { Graph } from "@topas/core";
import { createRng, mean, type Rng, type SimTask } from "@topas/sim";

/**
 * What the policy is told at arrival (falsifier F3): the right estimates, wrong ones, a wrong graph, or nothing. What really
 * happens does not change, so runs with different estimates are still paired.
 */
export type Estimates = "right" | "x0.3" | "x3" | "shuffled" | "noise-1" | "noise-2" | "adversarial" | "wrong-graph" | "missing";

/** As `right`, but told the lengths that really come, a round at a time their mean; and no history of other tasks beside them. */
export function foretold(tasks: readonly SimTask[]): readonly SimTask[] {
  return withoutHistory(
    tasks.map((task) => {
      if (task.graph === null) return task;
      const outputs = new Map(task.stages.map(({ id, rounds }) => [id, mean(rounds.map(({ outputTokens }) => outputTokens))]));
      const stages = task.graph.stages.map((stage) => ({ ...stage, expectedOutputTokens: outputs.get(stage.id) ?? 1 }));
      return { ...task, graph: { ...task.graph, stages } };
    }),
  );
}

/** Every task as a tenant of its own: profiles are learned per tenant, so no other task's lengths are mixed in. */
export function withoutHistory(tasks: readonly SimTask[]): readonly SimTask[] {
  return tasks.map((task) => ({ ...task, tenant: task.id }));
}

export function withEstimates(tasks: readonly SimTask[], estimates: Estimates, seed: number): readonly SimTask[] {
  const rng = createRng(seed).split(`estimates/${estimates}`);
  return tasks.map((task) => ({ ...task, stages: pinned(task), graph: told(task.graph, estimates, rng.split(task.id)) }));
}

/** The true predecessors stay where they were once the graph lies. */
function pinned(task: SimTask): SimTask["stages"] {
  return task.stages.map((stage, i) => {
    const edges = task.graph?.edges.filter(([, to]) => to === stage.id).map(([from]) => from);
    const before = task.stages[i - 1];
    return { ...stage, after: stage.after ?? edges ?? (before === undefined ? [] : [before.id]) };
  });
}

function told(graph: Graph | null, estimates: Estimates, rng: Rng): Graph | null {
  if (graph === null || estimates === "missing") return null;
  switch (estimates) {
    case "right":
      return graph;
    case "x0.3":
      return scaled(graph, () => 0.3);
    case "x3":
      return scaled(graph, () => 3);
    case "noise-1":
      return scaled(graph, () => rng.lognormal(1, 1));
    case "noise-2":
      return scaled(graph, () => rng.lognormal(1, 2));
    // Every task claims to be nearly done: what a client gains by lying.
    case "adversarial":
      return scaled(graph, () => 0.01);
    case "shuffled":
      return shuffled(graph, rng);
    case "wrong-graph":
      return chain(graph, rng);
  }
}

function scaled(graph: Graph, factor: () => number): Graph {
  const stages = graph.stages.map((stage) => {
    if (stage.expectedOutputTokens === undefined) return stage;
    return { ...stage, expectedOutputTokens: Math.max(1, Math.round(stage.expectedOutputTokens * factor())) };
  });
  return { ...graph, stages };
}

function shuffled(graph: Graph, rng: Rng): Graph {
  const values = permuted(
    graph.stages.map(({ expectedOutputTokens }) => expectedOutputTokens),
    rng,
  );
  const stages = graph.stages.map((stage, i) => {
    const value = values[i];
    return value === undefined ? stage : { ...stage, expectedOutputTokens: value };
  });
  return { ...graph, stages };
}

/** The same stages, declared as a chain in a random order. */
function chain(graph: Graph, rng: Rng): Graph {
  const ids = permuted(
    graph.stages.map(({ id }) => id),
    rng,
  );
  return { stages: graph.stages, edges: ids.slice(1).map((id, i) => [ids[i]!, id] as const) };
}

function permuted<T>(values: readonly T[], rng: Rng): T[] {
  const out = [...values];
  for (let i = out.length - 1; i > 0; i--) {
    const j = rng.int(i + 1);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}
