import { budgetPressure, type Preset } from "./preset.ts";
import { CODING_PRESETS } from "./presets/coding.ts";
import { CONTROL_PRESETS } from "./presets/controls.ts";
import { DAG_PRESETS } from "./presets/dags.ts";
import { METAGPT_PRESETS } from "./presets/metagpt.ts";
import { mix } from "./presets/mixed.ts";
import { PAPER_METAGPT_PRESETS } from "./presets/paper-metagpt.ts";
import { RUFLO_PRESETS } from "./presets/ruflo.ts";
import { TEAM_PRESETS } from "./presets/teams.ts";

const single = [
  ...DAG_PRESETS,
  ...PAPER_METAGPT_PRESETS,
  ...METAGPT_PRESETS,
  ...TEAM_PRESETS,
  ...CODING_PRESETS,
  ...RUFLO_PRESETS,
  ...CONTROL_PRESETS,
];

const named = (name: string): Preset => single.find((preset) => preset.name === name)!;

const PRESETS: readonly Preset[] = [
  ...single,
  mix("mixed", "pipelines, fork/join, a hub and chat in one stream, with hidden difficulty", [
    [0.3, named("paper-sop")],
    [0.2, named("dag-4")],
    [0.2, named("langgraph-supervisor")],
    [0.1, named("ruflo-research")],
    [0.2, named("chat")],
  ]),
];

export function presetNames(): string[] {
  return PRESETS.map(({ name }) => name);
}

/** @throws RangeError that lists the names. */
export function findPreset(name: string): Preset {
  const preset = PRESETS.find((each) => each.name === name);
  if (preset === undefined) throw new RangeError(`unknown workload ${name}; known: ${presetNames().join(", ")}`);
  return preset;
}

export interface WorkloadListing {
  readonly name: string;
  readonly family: Preset["family"];
  readonly description: string;
  readonly source: string;
  readonly agents: number;
  readonly prefixSumTokens: number;
  readonly budgetTokens: number;
  /** Sum of prefixes over the budget. */
  readonly budgetPressure: number;
  readonly ratePerSecond: number | null;
  readonly tokenScale: number;
}

/** What a command prints: every workload with its source and how far its prefixes fill the budget. */
export function listWorkloads(): WorkloadListing[] {
  return PRESETS.map((preset) => {
    const scale = preset.tokenScale ?? 1;
    const scaled = preset.agents.map((agent) => ({ ...agent, prefixTokens: Math.round(agent.prefixTokens * scale) }));
    return {
      name: preset.name,
      family: preset.family,
      description: preset.description,
      source: preset.source,
      agents: scaled.length,
      prefixSumTokens: scaled.reduce((sum, agent) => sum + agent.prefixTokens, 0),
      budgetTokens: preset.budgetTokens,
      budgetPressure: budgetPressure(scaled, preset.budgetTokens),
      ratePerSecond: preset.ratePerSecond ?? null,
      tokenScale: scale,
    };
  });
}
