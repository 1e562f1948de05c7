import type { Graph } from "@topas/core";
import type { Rng } from "../rng.ts";
import type { SimAgent, SimRound, SimStage, SimTask } from "../task.ts";
import { meanOf, sample, scaled, spread, type Distribution } from "./distribution.ts";
import type { MaxTokens, Preset, StagePlan, TaskPlan } from "./preset.ts";
import { substream } from "./random.ts";

export interface BuildOptions {
  readonly tokenScale: number;
  readonly maxTokens: MaxTokens;
  readonly contextTokens: number;
  /** Prefix, prompt and output of a call stay below this: older history is dropped, a ReAct stage ends, as frameworks compact. */
  readonly longestCallTokens: number;
  readonly prefixFactor: number;
  readonly difficultySigma: number;
  readonly outputCv: number | null;
  readonly toolWaits: Distribution | null;
  readonly reveal: "nothing" | "graph" | "estimates";
}

/** What earlier stages of a task leave to later prompts. */
interface Said {
  readonly contextTokens: number;
  readonly lastOutputTokens: number;
  readonly outputTokens: number;
  readonly agent: string;
}

/**
 * Draws one task. Every component of every stage has its own stream, so changing a distribution, the number of rounds or the
 * arrivals moves nothing else.
 */
export function buildTask(
  preset: Preset,
  plan: TaskPlan,
  at: { id: string; index: number; seconds: number },
  root: Rng,
  options: BuildOptions,
): { readonly task: SimTask; readonly agents: readonly SimAgent[] } {
  const own = (name: string): string => (name.endsWith("@") ? name + at.id : name);
  const stream = (component: string, stage: string): Rng => substream(root, `${component}/${at.index}/${stage}`);
  const { difficultySigma: sigma } = options;
  const difficulty = substream(root, `difficulty/${at.index}`).lognormal(Math.exp((-sigma * sigma) / 2), sigma);
  const agents = (plan.agents ?? []).map((agent) => resized(agent, options.prefixFactor));
  const prefixes = new Map(
    [...preset.agents.map((agent) => resized(agent, options.prefixFactor)), ...agents].map((agent) => [
      agent.name,
      agent.prefixTokens,
    ]),
  );
  const said = new Map<string, Said>();
  const stages: SimStage[] = [];
  let historyTokens = 0;
  for (const stage of plan.stages) {
    const roomTokens = options.longestCallTokens - prefixes.get(stage.agent)!;
    if (roomTokens < 64)
      throw new RangeError(
        `agent ${stage.agent}: a prefix of ${prefixes.get(stage.agent)} tokens leaves no room below ${options.longestCallTokens}`,
      );
    const rounds = drawRounds(
      stage,
      { carriedTokens: carried(stage, said, historyTokens), roomTokens, difficulty, stream },
      options,
    );
    const spoken = { ...totals(rounds), agent: stage.agent };
    said.set(stage.id, spoken);
    historyTokens += spoken.outputTokens;
    stages.push({ id: stage.id, agent: own(stage.agent), rounds, after: stage.after });
  }
  const reveals = (plan.revealsGraph ?? preset.revealsGraph) && options.reveal !== "nothing";
  const graph = reveals ? declared(plan.stages, own, options) : null;
  const task = { id: at.id, arrivalSeconds: at.seconds, workflow: plan.workflow ?? preset.name, graph, stages };
  return { task, agents: agents.map((agent) => ({ ...agent, name: own(agent.name) })) };
}

export function resized(agent: SimAgent, factor: number): SimAgent {
  return { ...agent, prefixTokens: Math.round(agent.prefixTokens * factor) };
}

interface StageInput {
  readonly carriedTokens: number;
  readonly roomTokens: number;
  readonly difficulty: number;
  readonly stream: (component: string, stage: string) => Rng;
}

function drawRounds(
  stage: StagePlan,
  { carriedTokens, roomTokens, difficulty, stream }: StageInput,
  options: BuildOptions,
): SimRound[] {
  const { tokenScale } = options;
  const { rounds: plan } = stage;
  const draw = (distribution: Distribution, rng: Rng, factor = 1): number =>
    Math.max(1, Math.round(sample(distribution, rng) * tokenScale * factor));
  const outputs = stream("output", stage.id);
  const output = options.outputCv === null ? stage.output : spread(meanOf(stage.output), options.outputCv, 8);
  const observations = stream("observation", stage.id);
  const waits = stream("wait", stage.id);
  const count =
    plan === undefined ? 1 : Math.min(plan.max, Math.max(1, Math.floor(sample(plan.count, stream("rounds", stage.id)))));
  const contextLimit = Math.min(roomTokens, (plan?.contextLimitTokens ?? Infinity) * tokenScale);
  const out: SimRound[] = [];
  let context = 0;
  let wanted = draw(output, outputs, difficulty);
  let fresh = Math.max(1, Math.min(draw(stage.prompt, stream("prompt", stage.id)) + carriedTokens, roomTokens - wanted));
  for (;;) {
    const maxTokens = limitOf(options, wanted, context + fresh);
    const outputTokens = Math.min(wanted, maxTokens, roomTokens - 1);
    context += fresh + outputTokens;
    const round = { promptTokens: fresh, outputTokens, maxTokens };
    if (out.length + 1 < count) {
      fresh = draw(plan!.observation, observations);
      wanted = draw(output, outputs, difficulty);
    }
    if (out.length + 1 === count || context > contextLimit || context + fresh + wanted > roomTokens)
      return [...out, { ...round, toolWaitSeconds: 0 }];
    out.push({ ...round, toolWaitSeconds: sample(options.toolWaits ?? plan!.waitSeconds, waits) });
  }
}

function limitOf({ maxTokens, contextTokens, tokenScale }: BuildOptions, outputTokens: number, promptTokens: number): number {
  if (typeof maxTokens === "number") return maxTokens;
  switch (maxTokens) {
    case "exact":
      return outputTokens;
    case "tight":
      return Math.ceil(1.2 * outputTokens);
    case "typical":
      return Math.ceil(1_024 * tokenScale);
    case "loose":
      return Math.ceil(4_096 * tokenScale);
    case "unset":
      return Math.max(1, contextTokens - promptTokens);
  }
}

function carried(stage: StagePlan, said: ReadonlyMap<string, Said>, historyTokens: number): number {
  const before = stage.after.map((id) => said.get(id)!);
  const answers = (parts: readonly Said[]): number => parts.reduce((sum, part) => sum + part.lastOutputTokens, 0);
  switch (stage.carry ?? "none") {
    case "none":
      return 0;
    case "predecessors":
      return answers(before);
    case "own": {
      const memory = [...said.values()].findLast(({ agent }) => agent === stage.agent)?.contextTokens ?? 0;
      return memory + answers(before.filter(({ agent }) => agent !== stage.agent));
    }
    case "history":
      return historyTokens;
  }
}

function totals(rounds: readonly SimRound[]): Omit<Said, "agent"> {
  const outputTokens = rounds.reduce((sum, round) => sum + round.outputTokens, 0);
  const promptTokens = rounds.reduce((sum, round) => sum + round.promptTokens, 0);
  return { contextTokens: promptTokens + outputTokens, lastOutputTokens: rounds.at(-1)!.outputTokens, outputTokens };
}

/** What a receipt could carry at arrival: never a realised length or count. */
function declared(stages: readonly StagePlan[], own: (agent: string) => string, options: BuildOptions): Graph {
  return {
    stages: stages.map(({ id, agent, rounds, output }) => ({
      id,
      agent: own(agent),
      ...(rounds === undefined ? {} : { rounds: { max: rounds.max, mean: meanOf(rounds.count) } }),
      ...(options.reveal === "estimates"
        ? { expectedOutputTokens: Math.max(1, Math.round(meanOf(scaled(output, options.tokenScale)))) }
        : {}),
    })),
    edges: stages.flatMap(({ id, after }) => after.map((from) => [from, id] as const)),
  };
}
