import type { Variant } from "../grid/cell.ts";
import { AS_PRESET } from "../grid/grid.ts";
import type { Estimates } from "../grid/estimates.ts";
import type { Experiment } from "./preset.ts";

const joint = ["topas", "topas-guarded", "topas-nopre", "kv-index-safe"];
const aging = ["lpm-task", "lpm-age", "lpm-task-age", "lpm-age-s", "lpm-task-o", "lpm-age-o", "lpm-task-age-o", "lpm-age-s-o"];

const learning = (estimates: Estimates): Variant => ({ ...AS_PRESET, label: `estimates ${estimates}`, estimates });
const believing = (estimates: Estimates): Variant => ({
  ...learning(estimates),
  label: `estimates ${estimates} and nothing learned`,
  history: "none",
});
/** From the mildest on. After some calls learned lengths outweigh declared ones, so the second half lets nothing be learned. */
const WRONG: readonly Variant[] = [
  ...(["right", "noise-1", "x0.3", "x3", "shuffled", "missing", "noise-2", "wrong-graph", "adversarial"] as const).map(learning),
  ...(["right", "noise-1", "x0.3", "x3", "shuffled", "noise-2", "adversarial"] as const).map(believing),
];

/** What would prove the claim wrong (algorithm 8, F1 to F4; workloads 15, falsifiers). */
export const FALSIFY: Experiment = {
  name: "falsify",
  title: "What would show that joint scheduling does not pay",
  minutes: 8,
  seeds: 5,
  capacityTasks: 150,
  grids: [
    {
      table: "F1",
      workloads: ["paper-chain3", "paper-dag4", "paper-sop-cv2", "paper-dag10-twin"],
      loads: ["preset"],
      reserves: ["mean", "peak"],
      arms: [...aging, ...joint],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "F2",
      workloads: ["paper-chain3", "paper-sop-cv2", "chat", "one-agent"],
      loads: [0.05, 0.3],
      arms: ["sglang-fcfs", "fcfs", "lpm", "task-fcfs-o", "topas", "topas-guarded", "kv-index-safe"],
      tasks: 80,
      warmupTasks: 10,
    },
    {
      table: "F3",
      workloads: ["paper-sop-cv7"],
      variants: WRONG,
      loads: [0.65],
      arms: ["task-fcfs-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "volatile",
      workloads: ["paper-sop-cv2"],
      variants: [{ ...AS_PRESET, label: "prefix changes every second", volatileSpan: "seconds" }],
      loads: [0.8],
      arms: ["fcfs", "lpm", "lpm-task-o", "task-fcfs-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
    {
      table: "no prefix to share",
      workloads: ["no-prefix", "one-agent"],
      loads: [0.65],
      arms: ["fcfs", "lpm", "task-fcfs-o", "topas-guarded", "kv-index-safe"],
      tasks: 120,
      warmupTasks: 30,
    },
  ],
  questions: [
    {
      test: "F1",
      question: "Is longest prefix match plus task aging within variance of the joint policy, same reserve and limits?",
      tables: ["F1"],
      policies: joint,
      baselines: aging,
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "F2",
      question: "At low load, is every policy within 1 % of the engine left alone?",
      tables: ["F2"],
      policies: ["topas", "topas-guarded", "kv-index-safe"],
      baselines: ["fcfs"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "within", limit: 0.01 },
    },
    {
      test: "F3",
      question: "With wrong or missing paths, which joint policy falls behind oldest task first?",
      tables: ["F3"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["task-fcfs-o"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "firstBehind" },
    },
    {
      test: "F4",
      question: "Where does a joint policy lose to any other scheduler by more than its interval?",
      tables: [],
      policies: joint,
      baselines: [],
      metrics: [],
      rule: { kind: "losses" },
    },
    {
      test: "volatile prefixes",
      question: "Does anything remain when prefixes change every second?",
      tables: ["volatile"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["lpm", "task-fcfs-o"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
    {
      test: "nothing to share",
      question: "With one agent or no prefix, is the joint policy at least not worse?",
      tables: ["no prefix to share"],
      policies: ["topas-guarded", "kv-index-safe"],
      baselines: ["fcfs", "task-fcfs-o"],
      metrics: ["jctMeanS", "jctP99S"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["topas", "topas-guarded", "kv-index-safe"],
};
