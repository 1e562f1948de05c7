import { fixed, spread, uniform } from "../distribution.ts";
import { geometric } from "../random.ts";
import type { Preset, ShapeInput, TaskPlan } from "../preset.ts";
import { agents, chain, stage, type Lengths } from "./shapes.ts";

const base = { family: "ruflo", budgetTokens: 20_000, maxTokens: 1_024 } as const;
const source =
  "shapes and prompt sizes captured from ruflo 3.42.5 and claude-flow 2.7.47; outputs ours. A shape, never the real workflow";
const output = spread(350, 0.6, 40);
const step: Lengths = { prompt: fixed(30), output, carry: "predecessors" };

/** Specialist and supervisor in turn until the condition holds, then the writer. No cap in the product; three rounds on average. */
function supervisorLoop({ rng }: ShapeInput): TaskPlan {
  const rounds = Math.min(8, geometric(rng, 3));
  const turn: (readonly [string, Lengths])[] = Array.from({ length: rounds }, () => [
    ["coder", step] as const,
    ["supervisor", { ...step, output: spread(90, 0.5, 10) }] as const,
  ]).flat();
  return { stages: chain([...turn, ["writer", step]]) };
}

const research: Lengths = { prompt: uniform(668, 743), output };
const mle: Lengths = { prompt: uniform(465, 502), output };

export const RUFLO_PRESETS: readonly Preset[] = [
  {
    ...base,
    source,
    name: "ruflo-feature",
    description: "feature chain of five SPARC agents: specification, pseudocode, architecture, refinement, completion",
    agents: agents({ specification: 2_671, pseudocode: 3_050, architecture: 3_879, refinement: 4_779, completion: 2_344 }),
    shape: chain(
      ["specification", "pseudocode", "architecture", "refinement", "completion"].map((name) => [name, step] as const),
    ),
    revealsGraph: true,
    ratePerSecond: 0.12,
  },
  {
    ...base,
    source,
    name: "ruflo-research",
    description: "six tasks [1, 3, 1, 1]; the coordinator first and last, two agents twice",
    agents: agents({ coordinator: 2_393, researcher: 1_223, analyst: 1_235 }),
    shape: [
      stage("plan", "coordinator", [], research),
      stage("search", "researcher", ["plan"], research),
      stage("read", "researcher", ["plan"], research),
      stage("data", "analyst", ["plan"], research),
      stage("synthesis", "analyst", ["search", "read", "data"], { ...research, carry: "predecessors" }),
      stage("report", "coordinator", ["synthesis"], { ...research, carry: "predecessors" }),
    ],
    revealsGraph: true,
    ratePerSecond: 0.07,
  },
  {
    ...base,
    source,
    name: "ruflo-supervisor",
    description: "specialist and supervisor in turn until accepted, then the writer",
    agents: agents({ coder: 1_477, supervisor: 2_393, writer: 1_223 }),
    shape: supervisorLoop,
    revealsGraph: false,
    ratePerSecond: 0.16,
  },
  {
    ...base,
    source,
    name: "ruflo-mle-star",
    description: "eight tasks, seven edges [2, 1, 1, 1, 1, 1, 1]; two agents used twice",
    agents: agents({ searcher: 1_223, evaluator: 1_653, ablation: 1_422, refiner: 1_965, ensembler: 1_477, validator: 1_833 }),
    shape: [
      stage("search", "searcher", [], mle),
      stage("baseline", "evaluator", [], mle),
      stage("foundation", "evaluator", ["search"], { ...mle, carry: "predecessors" }),
      stage("ablation", "ablation", ["foundation"], { ...mle, carry: "predecessors" }),
      stage("refine", "refiner", ["ablation"], { ...mle, carry: "predecessors" }),
      stage("ensemble", "ensembler", ["refine"], { ...mle, carry: "predecessors" }),
      stage("validate", "validator", ["ensemble"], { ...mle, carry: "predecessors" }),
      stage("deploy", "refiner", ["validate", "baseline"], { ...mle, carry: "predecessors" }),
    ],
    revealsGraph: true,
    ratePerSecond: 0.057,
  },
];
