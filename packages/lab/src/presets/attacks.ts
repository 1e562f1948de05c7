import { AS_PRESET } from "../grid/grid.ts";
import type { Experiment } from "./preset.ts";

const difficulty = [0, 0.5, 1].map((sigma) => ({ ...AS_PRESET, label: `difficulty sigma ${sigma}`, difficultySigma: sigma }));
const revoke = [2, 5].map((value) => ({ name: `topas revoke ${value} rho 1`, base: "topas", options: { revokeFactor: value } }));
const AGED = ["topas", "topas-sym-age", "topas-guarded"];
const rho = (name: string) => [0.3, 1, 3].map((value) => ({ name: `${name} rho ${value}`, base: name, options: { rho: value } }));

const RANKED = ["fcfs", "lpm", "lpm-task-o", "task-fcfs-o", "topas-guarded", "kv-index-safe"];

/** The six published criticisms. A5 here is the worst case by search; regret to bounds and oracles is in `frontier`. */
export const ATTACKS: Experiment = {
  name: "attacks",
  title: "The six published criticisms",
  minutes: 11,
  seeds: 5,
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
      loads: [0.65],
      arms: ["topas", "topas-corr", "topas-guarded"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A3",
      workloads: ["paper-sop-cv2"],
      loads: [0.8, 0.95, 1.1],
      arms: [...AGED.flatMap(rho), ...revoke, "task-fcfs-o"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A4",
      workloads: ["paper-sop-cv2", "paper-sop-cv7", "mixed"],
      loads: [0.65, 0.8],
      arms: ["lpm", "lpm-task", "task-fcfs-o", "srpt-w-age-o", "lpm-age-s-o", "topas", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A6",
      workloads: ["paper-sop-cv2"],
      loads: [0.8],
      profiles: ["qwen2.5-32b-a100", "qwen2.5-32b-h100", "llama-3.1-8b-rtx4090"],
      arms: RANKED,
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "A6",
      workloads: ["paper-sop-cv2"],
      loads: [0.8],
      budgets: [20_000, 37_500],
      arms: RANKED,
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
      policies: [...rho("topas-sym-age"), ...revoke].map(({ name }) => name),
      baselines: ["topas rho 1"],
      metrics: ["jctMeanS", "jctP99S", "waitMaxS"],
      rule: { kind: "compare" },
    },
    {
      test: "A3, preemptions and waits",
      question: "How often does it preempt and how long does a call wait, over rho and load?",
      tables: ["A3"],
      policies: [...AGED.flatMap(rho), ...revoke].map(({ name }) => name),
      baselines: [],
      metrics: [],
      rule: { kind: "shows", over: "rho " },
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
  steps: [
    {
      kind: "search",
      test: "A5",
      question: "How bad at worst, against oldest task first and against the best schedule, on random tiny instances?",
      instances: 10_000,
    },
    {
      kind: "calibration",
      test: "A2, calibration",
      question:
        "Is the remaining path calibrated, with independent and with correlated residuals, on serial and parallel graphs?",
      workloads: ["paper-sop-cv7", "paper-dag10-twin"],
      load: 0.65,
      sigmas: [0, 0.5, 1],
      seeds: 3,
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  timed: ["topas", "topas-guarded", "topas-one-set"],
};
