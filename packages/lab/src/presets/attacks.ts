import { AS_PRESET } from "../grid/grid.ts";
import type { Experiment } from "./preset.ts";

const difficulty = [0, 0.5, 1].map((sigma) => ({ ...AS_PRESET, label: `difficulty sigma ${sigma}`, difficultySigma: sigma }));
const rho = (name: string) => [0.3, 1, 3].map((value) => ({ name: `${name} rho ${value}`, base: name, options: { rho: value } }));

/** The six published criticisms (algorithm 8, A1 to A6). A5 against brute force is a test of the simulator; bounds are in `frontier`. */
export const ATTACKS: Experiment = {
  name: "attacks",
  title: "The six published criticisms",
  minutes: 11,
  seeds: 6,
  capacityTasks: 150,
  grids: [
    {
      table: "A1",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop", "paper-sop-cv2"],
      loads: ["preset"],
      hostTiers: ["pcie", "none"],
      reserves: ["mean", "peak"],
      arms: ["topas", "topas-one-set", "topas-guarded", "lpm-task-o"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A2",
      workloads: ["paper-sop-cv7"],
      variants: difficulty,
      loads: [0.8],
      arms: ["topas", "topas-corr", "topas-guarded"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A3",
      workloads: ["paper-sop-cv2"],
      loads: [0.8, 0.95],
      arms: [...rho("topas"), ...rho("topas-sym-age"), ...rho("topas-guarded"), "task-fcfs-o"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A4",
      workloads: ["paper-sop-cv2", "paper-sop-cv7", "mixed"],
      loads: [0.8],
      arms: ["lpm", "lpm-task", "task-fcfs-o", "srpt-w-age-o", "lpm-age-s-o", "topas", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A6",
      workloads: ["paper-sop-cv2"],
      loads: [0.8],
      profiles: ["qwen2.5-32b-a100", "qwen2.5-32b-h100", "llama-3.1-8b-rtx4090"],
      arms: ["fcfs", "lpm", "lpm-task-o", "task-fcfs-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "A1",
      question: "Does the search over prefix sets pay, or only order and value?",
      tables: ["A1"],
      policies: ["topas"],
      baselines: ["topas-one-set"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "A2",
      question: "Does independence of residuals misrank?",
      tables: ["A2"],
      policies: ["topas-corr"],
      baselines: ["topas"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "A3",
      question: "Does one-sided aging thrash or starve against aging on every term?",
      tables: ["A3"],
      policies: rho("topas-sym-age").map(({ name }) => name),
      baselines: ["topas rho 1"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "A4",
      question: "Is it path gain, or order that knows contention?",
      tables: ["A4"],
      policies: ["topas-guarded"],
      baselines: ["lpm", "lpm-task", "task-fcfs-o", "srpt-w-age-o", "lpm-age-s-o"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "recovers" },
    },
    {
      test: "A6",
      question: "Do other engines rank the policies alike?",
      tables: ["A6"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["fcfs", "lpm", "lpm-task-o", "task-fcfs-o"],
      metrics: ["jctMeanS"],
      rule: { kind: "ranks" },
    },
  ],
  timed: ["topas", "topas-guarded", "topas-one-set"],
};
