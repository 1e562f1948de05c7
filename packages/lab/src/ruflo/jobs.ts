import type { Rng } from "@topas/sim";
import { markerOf } from "../live/exact-lengths.ts";
import { words } from "../live/words.ts";
import { drawLength, drawRounds, drawWaitMs, limitOf, LOOP } from "./lengths.ts";

/** A stage as a workload declares it. */
export interface StagePlan {
  readonly stage: string;
  readonly agent: string;
  readonly meanTokens: number;
}

/** What one call is to say: enforced in the engine and put into the answer, so that prompts which quote it never differ. */
export interface Answer {
  readonly tokens: number;
  readonly text: string;
}

/** Stage → its visits in order. */
export type Answers = Readonly<Record<string, readonly Answer[]>>;

/** One run of a v3 workflow, plain data for the thread that runs it. */
export interface V3Job {
  readonly kind: "v3";
  readonly id: string;
  readonly name: string;
  readonly agents: readonly string[];
  readonly steps: readonly { readonly name: string; readonly type: string; readonly config: Readonly<Record<string, unknown>> }[];
  readonly answers: Answers;
}

/** One run of a v2 workflow. */
export interface V2Job {
  readonly kind: "v2";
  readonly id: string;
  readonly workflow: Readonly<Record<string, unknown>>;
  /** Agent → its own text. */
  readonly systems: Readonly<Record<string, string>>;
  readonly promptFactor: number;
  /** Task → what stands at the head of its prompt, and its `max_tokens`. */
  readonly markers: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly timeoutMs: number;
  readonly answers: Answers;
}

export type RufloJob = V3Job | V2Job;

/** A step's client timeout: the engine's own 60 s would end calls that are merely held back. */
const TIMEOUT_MS = 600_000;

export function callsOf({ answers }: RufloJob): number {
  return Object.values(answers).reduce((sum, visits) => sum + visits.length, 0);
}

function answersOf(id: string, plan: readonly StagePlan[], visits: (stage: string) => number, seed: number, rng: Rng): Answers {
  return Object.fromEntries(
    plan.map(({ stage, meanTokens }) => [
      stage,
      Array.from({ length: visits(stage) }, (_, visit): Answer => {
        const tokens = drawLength(meanTokens, rng.split(`length/${stage}/${visit}`));
        return { tokens, text: words(tokens, seed, `${id}/${stage}/${visit}`) };
      }),
    ]),
  );
}

export interface JobInput {
  readonly id: string;
  readonly seed: number;
  readonly rng: Rng;
  /** Agent → its own text. */
  readonly systems: Readonly<Record<string, string>>;
}

/** The stages of the v3 `feature` template in its order, with a tool wait after the stages named. */
export function chainJob(name: string, plan: readonly StagePlan[], waitsAfter: ReadonlySet<string>, input: JobInput): V3Job {
  const { id, seed, rng } = input;
  const steps = plan.flatMap((stage) => [
    taskStep(stage, input, `${stage.stage}: ${taskText(input)}\n{{lastStepOutput}}`),
    ...(waitsAfter.has(stage.stage) ? [waitStep(`Tools of ${stage.stage}`, rng.split(`wait/${stage.stage}`))] : []),
  ]);
  return { kind: "v3", id, name, agents: agentsOf(plan), steps, answers: answersOf(id, plan, () => 1, seed, rng) };
}

/** Specialist, its tools, supervisor, and back until the supervisor says DONE; then the writer. */
export function loopJob(name: string, plan: readonly [StagePlan, StagePlan, StagePlan], input: JobInput): V3Job {
  const { id, seed, rng } = input;
  const [specialist, supervisor, writer] = plan;
  const rounds = drawRounds(rng.split("rounds"));
  const text = taskText(input);
  const drawn = answersOf(id, plan, (stage) => (stage === writer.stage ? 1 : rounds), seed, rng);
  const verdicts = drawn[supervisor.stage]!.map((answer, round) => ({
    ...answer,
    text: round === rounds - 1 ? "DONE" : `CONTINUE${answer.text}`,
  }));
  return {
    kind: "v3",
    id,
    name,
    agents: agentsOf(plan),
    steps: [
      taskStep(specialist, input, `Work on: ${text}\n{{lastStepOutput}}`),
      waitStep("Tools", rng.split("wait")),
      taskStep(supervisor, input, `Judge: ${text}\n{{lastStepOutput}}`),
      { name: "Enough?", type: "condition", config: { when: "lastStepOutput === 'DONE'", elseStep: 0, rounds: LOOP } },
      taskStep(writer, input, `Write up: ${text}\n{{lastStepOutput}}`),
    ],
    answers: { ...drawn, [supervisor.stage]: verdicts },
  };
}

/** A shipped v2 workflow file, its time limits left out (they mix units). */
export function dagJob(
  workflow: Readonly<Record<string, unknown>>,
  plan: readonly StagePlan[],
  factor: number,
  input: JobInput,
): V2Job {
  const { id, seed, rng, systems } = input;
  return {
    kind: "v2",
    id,
    workflow: { ...workflow, variables: { ...(workflow["variables"] as object), research_topic: taskText(input) } },
    systems,
    promptFactor: factor,
    markers: Object.fromEntries(plan.map((each) => [each.stage, markerOf(id, each.stage)])),
    timeoutMs: TIMEOUT_MS,
    limits: Object.fromEntries(plan.map(({ stage, meanTokens }) => [stage, limitOf(meanTokens)])),
    answers: answersOf(id, plan, () => 1, seed, rng),
  };
}

function taskStep({ stage, agent, meanTokens }: StagePlan, { id, systems }: JobInput, prompt: string): V3Job["steps"][number] {
  return {
    name: stage,
    type: "task",
    config: {
      agentId: agent,
      systemPrompt: systems[agent],
      prompt: `${markerOf(id, stage)} ${prompt}`,
      maxTokens: limitOf(meanTokens),
      temperature: 0,
      timeoutMs: TIMEOUT_MS,
    },
  };
}

function waitStep(name: string, rng: Rng): V3Job["steps"][number] {
  return { name, type: "wait", config: { ms: drawWaitMs(rng) } };
}

/** What the job is about: 20 to 60 words of the made models. */
function taskText({ id, seed, rng }: JobInput): string {
  return words(20 + rng.split("task").int(41), seed, `${id}/task`).trim();
}

function agentsOf(plan: readonly StagePlan[]): readonly string[] {
  return [...new Set(plan.map(({ agent }) => agent))];
}
