import { AS_PRESET } from "../grid/grid.ts";
import { peakOf } from "./peak.ts";
import { regretToClairvoyance, strongestFair } from "./aim-questions.ts";
import type { Experiment } from "./preset.ts";

const shipped = ["fcfs", "lpm", "task-fcfs", "las", "spf"];
const joint = ["topas", "topas-guarded", "kv-index-safe", "kv-index-mean"];
const simple = ["lpm-task", "lpm-task-o", "lpm-age-s-o", "task-fcfs-o", "srpt-w-age-o"];

const TOPOLOGIES = ["paper-chain3", "paper-dag4", "paper-dag10", "paper-sop", "paper-tl"];

/** The paper's five topologies at the rates of the paper-like presets and over load, its percentages beside ours. */
export const PAPER: Experiment = {
  name: "paper",
  title: "The paper's workloads: Chain-3, DAG-4, DAG-10-Wide, SOP, TL (arXiv 2608.25523, Fig. 1, 3, 4, 5)",
  minutes: 29,
  seeds: 10,
  capacityTasks: 150,
  grids: [
    {
      table: "fixed lengths, as shipped",
      workloads: TOPOLOGIES,
      loads: ["preset"],
      arms: ["sglang-fcfs", "sglang-lpm", "vllm-fcfs", ...shipped, ...simple, ...joint],
      tasks: 200,
      warmupTasks: 50,
    },
    {
      table: "varying lengths",
      workloads: ["paper-sop-cv2", "paper-tl-cv2"],
      loads: ["preset"],
      arms: [...shipped, ...simple, ...joint],
      tasks: 200,
      warmupTasks: 50,
    },
    {
      table: "same engine, peak reserve",
      workloads: TOPOLOGIES,
      loads: ["preset"],
      reserves: ["peak"],
      arms: ["lpm-task", "lpm-task-o", "lpm-age-s-o", "task-fcfs-o", "srpt-w-age-o", ...joint],
      tasks: 200,
      warmupTasks: 50,
    },
    {
      table: "over load",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop"],
      loads: [0.65, 0.8, 0.95],
      arms: [
        "fcfs",
        "lpm",
        ...peakOf("lpm-task-o", "task-fcfs-o"),
        "topas-guarded",
        "kv-index-safe",
        "topas-guarded foretold",
        "oracle-index",
      ],
      tasks: 200,
      warmupTasks: 50,
    },
    {
      table: "loose limit, max_tokens 2,048 for every row",
      workloads: ["paper-chain3", "paper-sop"],
      variants: [{ ...AS_PRESET, label: "max_tokens 2048", maxTokens: 2_048 }],
      loads: ["preset"],
      arms: ["lpm", "lpm-task-o", "lpm-age-s-o", "topas-guarded", "kv-index-safe"],
      tasks: 200,
      warmupTasks: 50,
    },
  ],
  questions: [
    {
      test: "paper",
      question: "Does the published search beat every shipped baseline on mean and p99?",
      tables: ["fixed lengths, as shipped"],
      policies: ["topas"],
      baselines: shipped,
      metrics: ["jctMeanS", "jctP99S", "throughputReqS"],
      rule: { kind: "compare" },
    },
    {
      test: "paper, varying lengths",
      question: "Does it when lengths vary?",
      tables: ["varying lengths"],
      policies: ["topas", "topas-guarded", "kv-index-safe"],
      baselines: shipped,
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "same engine",
      question: "Does it when baselines may skip and reserve as it does?",
      tables: ["same engine, peak reserve"],
      policies: ["topas", "topas-guarded", "kv-index-safe"],
      baselines: simple,
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    strongestFair(["same engine, peak reserve", "over load"], [...simple, "lpm-task-o peak", "task-fcfs-o peak"]),
    regretToClairvoyance(["over load"]),
  ],
  timed: ["topas", "topas-guarded", "kv-index-safe"],
};
