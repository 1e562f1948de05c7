import { pick } from "../random.ts";
import type { Preset, ShapeInput, StagePlan, TaskPlan } from "../preset.ts";

/** Tasks of several presets in one stream, drawn by weight; agents get the preset's name in front. */
export function mix(name: string, description: string, parts: readonly (readonly [weight: number, preset: Preset])[]): Preset {
  const weights = parts.map(([weight]) => weight);
  return {
    name,
    family: "mixed",
    description,
    source: `parts: ${parts.map(([weight, preset]) => `${preset.name} ${weight}`).join(", ")}; weights ours`,
    agents: parts.flatMap(([, preset]) => preset.agents.map((agent) => ({ ...agent, name: `${preset.name}/${agent.name}` }))),
    budgetTokens: 20_000,
    revealsGraph: true,
    maxTokens: 2_048,
    difficultySigma: 0.5,
    ratePerSecond: 0.05,
    shape: (input) => part(parts[pick(input.rng, weights)]![1], input),
  };
}

function part(preset: Preset, input: ShapeInput): TaskPlan {
  const plan: TaskPlan = typeof preset.shape === "function" ? preset.shape(input) : { stages: preset.shape };
  const rename = (agent: string): string => `${preset.name}/${agent}`;
  return {
    workflow: preset.name,
    revealsGraph: preset.revealsGraph,
    stages: plan.stages.map((stage): StagePlan => ({ ...stage, agent: rename(stage.agent) })),
    ...(plan.agents === undefined ? {} : { agents: plan.agents.map((agent) => ({ ...agent, name: rename(agent.name) })) }),
  };
}
