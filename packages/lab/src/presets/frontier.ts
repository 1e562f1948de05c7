import { peakOf } from "./peak.ts";
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
    {
      test: "aim: strongest fair simple policy",
      question:
        "At load 0.8 and above: mean 8 % lower than the best simple policy of the same engine and reserve, p99 not worse?",
      tables: ["frontier"],
      policies: ["topas-guarded", "kv-index-safe", "kv-index-mean"],
      baselines: SIMPLE.map(({ name }) => name),
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "fair", percent: 8, fromLoad: 0.8 },
    },
    {
      test: "aim: regret to clairvoyance",
      question: "Is each policy within 5 % of its own form that knows the lengths?",
      tables: ["frontier"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["topas-guarded foretold", "oracle-index"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "clairvoyant", percent: 5 },
    },
  ],
  timed: ["kv-index-safe", "topas"],
};
