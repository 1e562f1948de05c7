import { AS_PRESET } from "../grid/grid.ts";
import type { Experiment } from "./preset.ts";

const sigma = [0, 0.5, 1].map((value) => ({ ...AS_PRESET, label: `difficulty sigma ${value}`, difficultySigma: value }));
const prefix = [1, 0.5, 0.25].map((value) => ({ ...AS_PRESET, label: `prefix KV x${value}`, prefixScale: value }));

/** Settings to choose the best from afterwards; `topas` itself has the middle one. */
const tuned = [0.3, 1, 3]
  .flatMap((rho) => [0.3, 1, 3].map((beta) => ({ name: `topas rho ${rho} beta ${beta}`, base: "topas", options: { rho, beta } })))
  .filter(({ options: { rho, beta } }) => rho !== 1 || beta !== 1);

/** The published hypotheses H1 to H5 (algorithm 8). H3 varies the prefix alone, as quantising the shared KV would. */
export const HYPOTHESES: Experiment = {
  name: "hypotheses",
  title: "Learned residuals, one setting, cheaper KV, a router, quotas",
  minutes: 5,
  seeds: 5,
  capacityTasks: 150,
  grids: [
    {
      table: "H1",
      workloads: ["paper-sop-cv7"],
      variants: sigma,
      loads: [0.65],
      arms: [
        "kv-index-safe",
        { name: "kv-index posterior", base: "kv-index-safe", options: { difficulty: "posterior" } },
        "topas-guarded",
        { name: "topas-guarded posterior", base: "topas-guarded", options: { difficulty: "posterior" } },
        { name: "topas-guarded correlated", base: "topas-guarded", options: { difficulty: "correlated" } },
        "oracle-index",
        "topas-guarded foretold",
      ],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "H2",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2"],
      loads: ["preset"],
      arms: ["topas-norm", "topas", ...tuned],
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
      arms: [{ name: "fcfs-o", base: "fcfs", fit: "over" }, "srpt-w-age-o", "topas", "router"],
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
      policies: ["kv-index posterior", "oracle-index"],
      baselines: ["kv-index-safe"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "H1, in the search",
      question: "Does a learned or correlated residual pay inside the joint search, and what would true lengths give?",
      tables: ["H1"],
      policies: ["topas-guarded posterior", "topas-guarded correlated", "topas-guarded foretold"],
      baselines: ["topas-guarded"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "H2",
      question: "Is the normalised score with one setting within 2 % of the best tuned search of every cell?",
      tables: ["H2"],
      policies: ["topas-norm"],
      baselines: ["topas", ...tuned.map(({ name }) => name)],
      metrics: ["jctMeanS"],
      rule: { kind: "best", limit: 0.02 },
    },
    {
      test: "H2, untuned",
      question: "Is it better than the search with its default setting?",
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
      rule: { kind: "fades", over: "prefix KV x" },
    },
    {
      test: "H4",
      question: "Is a router within 1 % of the better arm?",
      tables: ["H4"],
      policies: ["router"],
      baselines: ["fcfs-o", "srpt-w-age-o", "topas"],
      metrics: ["jctMeanS"],
      rule: { kind: "best", limit: 0.01 },
    },
    {
      test: "H5",
      question: "What does dynamic scoring buy over quotas?",
      tables: ["H5"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["static-partition"],
      metrics: ["jctMeanS", "jctP99S", "waitMaxS"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["topas-norm", "router", "static-partition"],
};
