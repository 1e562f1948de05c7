import type { Experiment } from "./preset.ts";

const POLICIES = [
  "lpm-task-o",
  "lpm-age-s-o",
  "task-fcfs-o",
  "srpt-w-age-o",
  "topas",
  "topas-guarded",
  "kv-index-safe",
  "kv-index-mean",
];

/** How far from the best: policies against the best of all rows, and against the run with unlimited KV. */
export const FRONTIER: Experiment = {
  name: "frontier",
  title: "Regret to the best policy and to unlimited memory",
  minutes: 60,
  seeds: 6,
  capacityTasks: 150,
  grids: [
    {
      table: "frontier",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2", "paper-sop-cv7"],
      loads: [0.65, 0.8, 0.95],
      arms: POLICIES,
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "frontier",
      question: "How does the index stand against every other policy?",
      tables: ["frontier"],
      policies: ["kv-index-safe", "kv-index-mean", "topas-guarded"],
      baselines: POLICIES,
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["kv-index-safe", "topas"],
};
