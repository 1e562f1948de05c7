import { fixed } from "../distribution.ts";
import type { Preset, StagePlan } from "../preset.ts";
import { agents, chain, forkJoin, stage } from "./shapes.ts";

const source = "arXiv 2608.25523 names the shapes; lengths and the 1 -> 8 -> 1 reading are ours";
const base = { budgetTokens: 20_000, revealsGraph: true, maxTokens: "exact", source } as const;

const branches = ["B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8"];
const branch = (id: string, prompt: number, output: number): StagePlan => stage(id, id, ["A"], { prompt, output });
const wide = (prompt: number, first: number, outputs: readonly number[], last: number): StagePlan[] =>
  forkJoin(
    stage("A", "A", [], { prompt, output: first }),
    branches.map((id, i) => branch(id, prompt, outputs[i]!)),
    stage("C", "C", [], { prompt, output: last }),
  );
const wideAgents = (ends: number, inner: number) =>
  agents({ A: ends, ...Object.fromEntries(branches.map((id) => [id, inner])), C: ends });
const diamond = (prompt: number): StagePlan[] =>
  forkJoin(
    stage("A", "A", [], { prompt, output: 300 }),
    [branch("B", prompt, 600), branch("C", prompt, 200)],
    stage("D", "D", [], { prompt, output: 400 }),
  );
const three = { prompt: 500, output: 400 };
const chain3 = chain([
  ["A", three],
  ["B", three],
  ["C", three],
]);

const rising = branches.map((_, i) => 113 + 32 * i);
const paperDag10 = {
  ...base,
  family: "forkJoin",
  agents: wideAgents(3_000, 1_500),
} as const;

export const DAG_PRESETS: readonly Preset[] = [
  {
    ...base,
    name: "chain-3",
    family: "pipeline",
    description: "A -> B -> C, three long prefixes, fixed lengths",
    agents: agents({ A: 4_000, B: 4_000, C: 4_000 }),
    shape: chain3,
    ratePerSecond: 0.15,
  },
  {
    ...base,
    name: "dag-4",
    family: "forkJoin",
    description: "A -> {B, C} -> D, one branch thrice as long as the other",
    agents: agents({ A: 4_000, B: 4_000, C: 4_000, D: 4_000 }),
    shape: diamond(500),
    ratePerSecond: 0.107,
  },
  {
    ...base,
    name: "dag-10-wide",
    family: "forkJoin",
    description: "A -> {B1..B8} -> C, branches of 150 to 450 tokens",
    agents: wideAgents(4_000, 2_000),
    shape: wide(400, 300, [150, 193, 236, 279, 321, 364, 407, 450], 400),
    ratePerSecond: 0.037,
  },
  {
    ...base,
    name: "paper-chain3",
    family: "pipeline",
    description: "A -> B -> C at load 0.8",
    agents: agents({ A: 5_000, B: 5_000, C: 5_000 }),
    shape: chain3,
    ratePerSecond: 0.15,
    studyCapacityPerSecond: 0.188,
  },
  {
    ...base,
    name: "paper-chain3-hi",
    family: "pipeline",
    description: "A -> B -> C at load 0.9",
    agents: agents({ A: 5_000, B: 5_000, C: 5_000 }),
    shape: chain3,
    ratePerSecond: 0.17,
    studyCapacityPerSecond: 0.188,
  },
  {
    ...base,
    name: "paper-dag4",
    family: "forkJoin",
    description: "A -> {B, C} -> D, four prefixes of a third of the budget",
    agents: agents({ A: 6_600, B: 6_600, C: 6_600, D: 6_600 }),
    shape: diamond(500),
    ratePerSecond: 0.1,
    studyCapacityPerSecond: 0.127,
  },
  {
    ...paperDag10,
    name: "paper-dag10",
    description: "A -> {B1..B8} -> C, branches of 113 to 337 tokens",
    shape: wide(400, 225, rising, 300),
    ratePerSecond: 0.12,
    studyCapacityPerSecond: 0.159,
  },
  {
    ...paperDag10,
    name: "paper-dag10-twin",
    description: "the same with equal branches: no single one shortens the path, nothing may stall on that",
    shape: wide(
      400,
      225,
      rising.map(() => 225),
      300,
    ),
    ratePerSecond: 0.1,
  },
  {
    ...base,
    name: "pipeline-6",
    family: "pipeline",
    description: "six roles in a row, each reading the output before it",
    source: "ours",
    agents: agents({ A: 2_000, B: 2_600, C: 1_400, D: 3_000, E: 1_800, F: 2_200 }),
    shape: chain(
      ["A", "B", "C", "D", "E", "F"].map((name) => [name, { prompt: fixed(300), output: 250, carry: "predecessors" }] as const),
    ),
    ratePerSecond: 0.147,
  },
];
