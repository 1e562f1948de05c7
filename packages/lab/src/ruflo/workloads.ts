import type { Rng } from "@topas/sim";
import { chainJob, dagJob, loopJob, type JobInput, type RufloJob, type StagePlan } from "./jobs.ts";
import { agentPrompt, shortened, v2File } from "./packages.ts";

export const RUFLO_WORKLOADS = ["ruflo-r1-chain", "ruflo-r2-research", "ruflo-r3-loop", "ruflo-r4-mle-star"] as const;
export type RufloWorkloadName = (typeof RUFLO_WORKLOADS)[number];

/** Of every shipped prompt this share of its characters is kept, so that a CPU engine can serve it. One factor for all. */
export const PROMPT_FACTOR = 1 / 13;

export interface Shape {
  readonly label: "ruflo-v3-engine" | "ruflo-v2-engine, model call replaced";
  readonly kind: RufloJob["kind"];
  /** What the report says of it. */
  readonly source: string;
  readonly stages: readonly StagePlan[];
  /** Agent → shipped prompt file. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly job: (packages: string, input: JobInput) => RufloJob;
}

const stage = (name: string, agent: string, meanTokens: number): StagePlan => ({ stage: name, agent, meanTokens });

const CHAIN = [
  stage("Research", "researcher", 48),
  stage("Design", "planner", 40),
  stage("Implement", "coder", 60),
  stage("Test", "tester", 40),
  stage("Review", "reviewer", 32),
];
const LOOP_STAGES = [
  stage("specialist", "coder", 56),
  stage("supervisor", "hierarchical-coordinator", 32),
  stage("writer", "researcher", 60),
] as const;
const RESEARCH = [
  stage("research-planning", "research-coordinator", 40),
  stage("technical-research", "technical-researcher", 56),
  stage("business-research", "business-analyst", 48),
  stage("ethical-research", "ethics-researcher", 48),
  stage("data-synthesis", "data-synthesizer", 40),
  stage("report-generation", "research-coordinator", 60),
];
const MLE_STAR = [
  stage("web_search_phase", "search_agent", 48),
  stage("dataset_analysis", "foundation_agent", 40),
  stage("foundation_building", "foundation_agent", 60),
  stage("ablation_analysis", "refinement_agent", 40),
  stage("targeted_refinement", "refinement_agent", 56),
  stage("ensemble_creation", "ensemble_agent", 48),
  stage("validation_and_debugging", "validation_agent", 40),
  stage("model_deployment_prep", "orchestrator", 32),
];
const RESEARCH_FILE = "src/workflows/examples/research-workflow.json";
const MLE_STAR_FILE = "src/cli/simple-commands/templates/mle-star-workflow.json";

export const SHAPES: Readonly<Record<RufloWorkloadName, Shape>> = {
  "ruflo-r1-chain": {
    label: "ruflo-v3-engine",
    kind: "v3",
    source: "v3 `feature` template: its stages in its order, tool waits after Implement and Test",
    stages: CHAIN,
    prompts: {
      researcher: "core/researcher",
      planner: "core/planner",
      coder: "core/coder",
      tester: "core/tester",
      reviewer: "core/reviewer",
    },
    job: (_, input) => chainJob("feature", CHAIN, new Set(["Implement", "Test"]), input),
  },
  "ruflo-r2-research": {
    label: "ruflo-v2-engine, model call replaced",
    kind: "v2",
    source: `v2 ${RESEARCH_FILE}: plan, three branches, join, report`,
    stages: RESEARCH,
    prompts: {
      "research-coordinator": "swarm/hierarchical-coordinator",
      "technical-researcher": "core/researcher",
      "business-analyst": "analysis/code-analyzer",
      "ethics-researcher": "core/researcher",
      "data-synthesizer": "analysis/code-analyzer",
    },
    job: (packages, input) => dagJob(workflowFile(packages, RESEARCH_FILE), RESEARCH, PROMPT_FACTOR, input),
  },
  "ruflo-r3-loop": {
    label: "ruflo-v3-engine",
    kind: "v3",
    source: "v3 `condition` loop: specialist, its tools, supervisor, back until DONE, then the writer",
    stages: LOOP_STAGES,
    prompts: {
      coder: "core/coder",
      "hierarchical-coordinator": "swarm/hierarchical-coordinator",
      researcher: "core/researcher",
    },
    job: (_, input) => loopJob("supervised", LOOP_STAGES, input),
  },
  "ruflo-r4-mle-star": {
    label: "ruflo-v2-engine, model call replaced",
    kind: "v2",
    source: `v2 ${MLE_STAR_FILE}: two roots, then a chain; two agents used twice`,
    stages: MLE_STAR,
    prompts: {
      search_agent: "core/researcher",
      foundation_agent: "core/coder",
      refinement_agent: "analysis/code-analyzer",
      ensemble_agent: "sparc/specification",
      validation_agent: "core/tester",
      orchestrator: "templates/orchestrator-task",
    },
    job: (packages, input) => dagJob(workflowFile(packages, MLE_STAR_FILE), MLE_STAR, PROMPT_FACTOR, input),
  },
};

/** Agent → its shipped prompt, shortened. */
export function systemsOf({ prompts }: Shape, packages: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(prompts).map(([agent, file]) => [agent, shortened(agentPrompt(packages, file), PROMPT_FACTOR)]),
  );
}

function workflowFile(packages: string, path: string): Readonly<Record<string, unknown>> {
  return JSON.parse(v2File(packages, path)) as Record<string, unknown>;
}

export function jobsOf(shape: Shape, packages: string, seed: number, count: number, rng: Rng): readonly RufloJob[] {
  const systems = systemsOf(shape, packages);
  return Array.from({ length: count }, (_, index) => {
    const id = `job-${index + 1}`;
    return shape.job(packages, { id, seed, rng: rng.split(id), systems });
  });
}
