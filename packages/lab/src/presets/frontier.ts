import { peakOf } from "./peak.ts";
import { regretToClairvoyance, strongestFair } from "./aim-questions.ts";
import type { Experiment } from "./preset.ts";

const SIMPLE = peakOf("lpm-task-o", "lpm-age-s-o", "task-fcfs-o", "srpt-w-age-o");
const POLICIES = [...SIMPLE.map(({ name }) => name), "topas", "topas-guarded", "kv-index-safe", "kv-index-mean"];

const REFERENCES = [
  "oracle-index",
  "topas-guarded foretold",
  "oracle-srpt-o",
  "oracle-belady-o",
  "oracle-reserve-o",
  "unlimited KV",
];
const ARMS = [...SIMPLE, ...POLICIES.slice(SIMPLE.length), ...REFERENCES];

/** How far from the best: policies against clairvoyant ones, against memory without end, and against the lone critical path. */
export const FRONTIER: Experiment = {
  name: "frontier",
  title: "Regret to the best policy and to unlimited memory",
  minutes: 5,
  seeds: 5,
  capacityTasks: 150,
  grids: [
    {
      table: "frontier",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2"],
      loads: [0.65, 0.8, 0.95],
      arms: ARMS,
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "frontier",
      workloads: ["paper-sop-cv7"],
      loads: [0.65],
      arms: ARMS,
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "A5, regret",
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
    strongestFair(
      ["frontier"],
      SIMPLE.map(({ name }) => name),
    ),
    regretToClairvoyance(["frontier"]),
  ],
  timed: ["kv-index-safe", "topas"],
};
