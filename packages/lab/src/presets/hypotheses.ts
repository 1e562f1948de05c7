import { AS_PRESET } from "../grid/grid.ts";
import type { Experiment } from "./preset.ts";

const sigma = [0, 0.5, 1].map((value) => ({ ...AS_PRESET, label: `difficulty sigma ${value}`, difficultySigma: value }));
const prefix = [1, 0.5, 0.25].map((value) => ({ ...AS_PRESET, label: `prefix KV x${value}`, prefixScale: value }));

/** The published hypotheses H1 to H5 (algorithm 8). H3 varies the prefix alone, as quantising the shared KV would. */
export const HYPOTHESES: Experiment = {
  name: "hypotheses",
  title: "Learned residuals, one setting, cheaper KV, a router, quotas",
  minutes: 7,
  seeds: 6,
  capacityTasks: 150,
  grids: [
    {
      table: "H1",
      workloads: ["paper-sop-cv7"],
      variants: sigma,
      loads: [0.8],
      arms: [
        "kv-index-safe",
        { name: "kv-index posterior", base: "kv-index-safe", options: { difficulty: "posterior" } },
        "topas-guarded",
        { name: "topas-guarded posterior", base: "topas-guarded", options: { difficulty: "posterior" } },
        { name: "topas-guarded correlated", base: "topas-guarded", options: { difficulty: "correlated" } },
      ],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "H2",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2"],
      loads: ["preset"],
      arms: ["topas", "topas-norm"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "H3",
      workloads: ["paper-chain3", "paper-sop-cv2"],
      variants: prefix,
      loads: [0.8],
      arms: ["task-fcfs-o", "lpm-task-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "H4",
      workloads: ["paper-chain3", "paper-sop-cv2", "chat"],
      loads: [0.3, 0.8],
      arms: ["fcfs", "task-fcfs-o", "srpt-w-age-o", "topas", "router"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "H5",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2"],
      loads: ["preset"],
      arms: ["static-partition", "lpm-task-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "H1",
      question: "Does a learned residual pay?",
      tables: ["H1"],
      policies: ["kv-index posterior"],
      baselines: ["kv-index-safe"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "H2",
      question: "Does the normalised score do as well with one setting everywhere?",
      tables: ["H2"],
      policies: ["topas-norm"],
      baselines: ["topas"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "H3",
      question: "Does cheaper KV remove the need?",
      tables: ["H3"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["task-fcfs-o"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "H4",
      question: "Is a router within 1 % of the better arm?",
      tables: ["H4"],
      policies: ["router"],
      baselines: ["fcfs", "task-fcfs-o", "srpt-w-age-o", "topas"],
      metrics: ["jctMeanS"],
      rule: { kind: "compare" },
    },
    {
      test: "H5",
      question: "What does dynamic scoring buy over quotas?",
      tables: ["H5"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["static-partition"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["topas-norm", "router", "static-partition"],
};
