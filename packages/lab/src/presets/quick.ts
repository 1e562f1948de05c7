import { peakOf } from "./peak.ts";
import type { Experiment } from "./preset.ts";

/** What a newcomer runs first: two pipelines and a fork/join at the rate of the paper-like presets. */
export const QUICK: Experiment = {
  name: "quick",
  title: "Does joint scheduling help? Four conditions on three workloads",
  minutes: 1,
  seeds: 5,
  capacityTasks: 100,
  grids: [
    {
      table: "quick",
      workloads: ["paper-chain3", "paper-dag4", "ruflo-feature"],
      loads: [0.75],
      arms: [
        "sglang-lpm",
        "fcfs",
        "lpm",
        "lpm-task",
        "lpm-age-s-o",
        "task-fcfs",
        "task-fcfs-o",
        // The fair rows: skipping, and the same reserve as the joint policies.
        ...peakOf("lpm-task-o", "task-fcfs-o"),
        "topas-guarded",
        "kv-index-safe",
      ],
      tasks: 100,
      warmupTasks: 25,
    },
    {
      table: "protected",
      workloads: ["chat"],
      loads: [0.3],
      arms: ["sglang-lpm", "fcfs", "topas-guarded", "kv-index-safe"],
      tasks: 80,
      warmupTasks: 20,
    },
  ],
  questions: [
    {
      test: "quick",
      question: "Is the joint policy faster than the best scheduler that engines ship?",
      tables: ["quick"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["lpm", "fcfs", "task-fcfs"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "F1",
      question: "Is longest prefix match with task order within variance of it?",
      tables: ["quick"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["lpm-task", "lpm-age-s-o", "lpm-task-o peak"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["topas-guarded", "kv-index-safe"],
};
