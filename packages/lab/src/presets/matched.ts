import { readConditions } from "../conditions.ts";
import type { Cell } from "../grid/cell.ts";
import { AS_PRESET } from "../grid/grid.ts";
import type { Experiment } from "./preset.ts";

/** The condition files as they are: their common grid, every arm of every file. Edit the files, run this. */
export function matchedExperiment(conditions = readConditions()): Experiment {
  const { workloads, arrivals, loads, budgets, hostTiers, profile, maxTokens, tasks, warmupTasks, seeds } = conditions[0]!;
  const named = (condition: string): string[] =>
    conditions.flatMap(({ policy }) => (policy.condition === condition ? policy.arms.map(({ name }) => name) : []));
  const limit: Cell["variant"] = maxTokens === "preset" ? AS_PRESET : { label: `max_tokens ${maxTokens}`, maxTokens };
  return {
    name: "matched",
    title: "The four conditions as their files say",
    minutes: 18,
    seeds: seeds.length,
    capacityTasks: 150,
    grids: [
      {
        table: "matched",
        workloads,
        variants: [limit],
        arrivals,
        loads,
        budgets,
        hostTiers,
        profiles: [profile],
        arms: conditions.flatMap(({ policy }) => policy.arms.map(({ name }) => name)),
        tasks,
        warmupTasks,
      },
    ],
    questions: (["A", "B", "C"] as const).map((condition) => ({
      test: `D against ${condition}`,
      question: `Is the joint policy faster than every scheduler of condition ${condition}?`,
      tables: ["matched"],
      policies: ["topas", "topas-guarded", "kv-index-safe"],
      baselines: named(condition),
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    })),
    timed: ["topas", "topas-guarded", "kv-index-safe"],
  };
}
