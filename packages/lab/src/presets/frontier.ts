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

const REFERENCES = ["oracle-index", "oracle-srpt-o", "oracle-reserve-o", "unlimited KV"];

/** How far from the best: policies against clairvoyant ones, against memory without end, and against the lone critical path. */
export const FRONTIER: Experiment = {
  name: "frontier",
  title: "Regret to the best policy and to unlimited memory",
  minutes: 6,
  seeds: 6,
  capacityTasks: 150,
  grids: [
    {
      table: "frontier",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2", "paper-sop-cv7"],
      loads: [0.65, 0.8, 0.95],
      arms: [...POLICIES, ...REFERENCES],
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "A5",
      question: "How far from the clairvoyant policies and from the bounds?",
      tables: ["frontier"],
      policies: POLICIES,
      baselines: REFERENCES,
      metrics: ["jctMeanS"],
      rule: { kind: "regret" },
    },
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
