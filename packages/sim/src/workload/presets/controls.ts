import { fixed, type Distribution } from "../distribution.ts";
import type { Preset, ShapeInput, TaskPlan } from "../preset.ts";
import { agents, chain, stage } from "./shapes.ts";

/** Quantiles of the Azure LLM inference trace 2023, conversation (CC-BY 4.0; Splitwise, ISCA'24): two modes, so no lognormal. */
const azurePrompt: Distribution = {
  kind: "quantiles",
  points: [
    [0, 32],
    [0.05, 181],
    [0.1, 207],
    [0.25, 396],
    [0.4, 703],
    [0.5, 1_020],
    [0.6, 1_071],
    [0.75, 1_189],
    [0.9, 2_734],
    [0.95, 4_083],
    [1, 4_142],
  ],
};
const azureOutput: Distribution = {
  kind: "quantiles",
  points: [
    [0, 7],
    [0.05, 41],
    [0.1, 54],
    [0.25, 85],
    [0.4, 103],
    [0.5, 129],
    [0.6, 177],
    [0.75, 395],
    [0.9, 424],
    [0.95, 451],
    [0.99, 601],
    [1, 1_000],
  ],
};

/** The diagnostic of arXiv 2608.25523, Table I: equal requests of two agents, one agent after the other or in turn. */
const halves =
  (order: "grouped" | "alternating", prompt: number, output: number) =>
  ({ index, count }: ShapeInput): TaskPlan => {
    const agent = (order === "grouped" ? index < count / 2 : index % 2 === 0) ? "A" : "B";
    return { stages: [stage("call", agent, [], { prompt: fixed(prompt), output: fixed(output) })] };
  };
const tableOne = (variant: "linear" | "engine", order: "grouped" | "alternating"): Preset => {
  const [budgetTokens, prefix, prompt, output] =
    variant === "linear" ? ([36_000, 12_420, 600, 2_400] as const) : ([20_000, 6_000, 200, 2_000] as const);
  return {
    name: `topas-table1-${variant}-${order}`,
    family: "acceptance",
    description: `equal requests of two agents with prefixes of a third of the budget, ${order}, all at once`,
    source: "arXiv 2608.25523 Table I; lengths fitted by us",
    agents: agents({ A: prefix, B: prefix }),
    budgetTokens,
    shape: halves(order, prompt, output),
    revealsGraph: true,
    maxTokens: "exact",
    arrival: { kind: "together" },
  };
};

export const CONTROL_PRESETS: readonly Preset[] = [
  {
    name: "chat",
    family: "control",
    description: "single calls without a shared prefix; protected against tail regressions",
    source: "quantiles of Azure/AzurePublicDataset AzureLLMInferenceTrace_conv (CC-BY 4.0, cite Splitwise, ISCA'24)",
    agents: agents({ Chat: 0 }),
    budgetTokens: 20_000,
    shape: [stage("call", "Chat", [], { prompt: azurePrompt, output: azureOutput })],
    revealsGraph: true,
    maxTokens: "typical",
    ratePerSecond: 0.5,
  },
  {
    name: "one-agent",
    family: "control",
    description: "three stages of one agent: no prefix ever competes",
    source: "ours",
    agents: agents({ A: 4_000 }),
    budgetTokens: 20_000,
    shape: chain([
      ["A", { prompt: 500, output: 400 }],
      ["A", { prompt: 500, output: 400 }],
      ["A", { prompt: 500, output: 400 }],
    ]),
    revealsGraph: true,
    maxTokens: "exact",
    ratePerSecond: 0.15,
  },
  {
    name: "no-prefix",
    family: "control",
    description: "A -> B -> C without any shared prefix: every policy on prefixes must come out equal",
    source: "ours",
    agents: agents({ A: 0, B: 0, C: 0 }),
    budgetTokens: 20_000,
    shape: chain([
      ["A", { prompt: 500, output: 400 }],
      ["B", { prompt: 500, output: 400 }],
      ["C", { prompt: 500, output: 400 }],
    ]),
    revealsGraph: true,
    maxTokens: "exact",
    ratePerSecond: 0.22,
  },
  tableOne("linear", "grouped"),
  tableOne("linear", "alternating"),
  tableOne("engine", "grouped"),
  tableOne("engine", "alternating"),
];
