import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { startGateway } from "@topas/gateway";
import type { ServingStateReceipt } from "@topas/receipt";
import { topasFetch } from "@topas/receipt/client";
import type { SimAgent, SimTask } from "@topas/sim";
import OpenAI from "openai";
import { words } from "../demo/workload.ts";
import type { MadeModel } from "../engine-choice.ts";
import { openLlama } from "./calibrate.ts";

/** Tokens of the agents' system prompts, before the chat template adds its own. */
const AGENTS = { supervisor: 420, researcher: 300, coder: 500, reviewer: 240 } as const;
type Agent = keyof typeof AGENTS;
const INPUT_TOKENS = 60;
const OUTPUT_TOKENS = 32;
// The made model's text would end anywhere.
const EXACT_LENGTH = { ignore_eos: true };
const CHAIN = ["lead-1", "work-1", "lead-2", "work-2", "lead-3"];

interface PlainTask {
  readonly id: string;
  readonly arrivalSeconds: number;
  readonly agents: readonly Agent[];
}

/** Supervisor loops with fixed lengths: nothing that two runs could draw differently. */
export function supervisorTasks(count: number, gapSeconds: number): PlainTask[] {
  const specialists = ["researcher", "coder", "reviewer"] as const;
  return Array.from({ length: count }, (_, i) => ({
    id: `supervisor-${String(i).padStart(2, "0")}`,
    arrivalSeconds: i * gapSeconds,
    agents: CHAIN.map((stage, k) => (stage.startsWith("lead") ? "supervisor" : specialists[(i + k) % 3]!)),
  }));
}

export interface Outcome {
  readonly meanTaskSeconds: number;
  readonly meanTtftSeconds: number;
  readonly totalSeconds: number;
  /** Time inside the engine's steps. */
  readonly engineSeconds: number;
  readonly steps: number;
}

export interface LlamaRun {
  readonly measured: Outcome;
  /** The same requests for the simulator, with the tokens the engine counted. */
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
}

/** The tasks on the embedded engine, through the gateway and the official client. @throws Error when a call fails. */
export async function runOnLlama(
  model: MadeModel,
  policy: string,
  kvTokens: number,
  tasks: readonly PlainTask[],
): Promise<LlamaRun> {
  const engine = await openLlama(model, kvTokens);
  const gateway = await startGateway({ engine, policy, host: "127.0.0.1", port: 0, keys: new Map(), logLevel: "silent" });
  try {
    const counted = new Map<string, { readonly prefix: number; readonly own: number }>();
    for (const { id, agents } of tasks)
      for (const [i, agent] of agents.entries()) {
        const messages = messagesOf(id, agent, i);
        const { prefix, promptTokens } = await engine.prepare({ kind: "chat", tenant: "default", messages });
        const shared = prefix?.tokens ?? 0;
        counted.set(`${id}/${CHAIN[i]}`, { prefix: shared, own: promptTokens - shared });
      }
    let [engineSeconds, steps] = [0, 0];
    engine.subscribe((event) => {
      if (event.kind !== "step") return;
      engineSeconds += event.ms / 1000;
      steps += 1;
    });
    const seen = await play(gateway.url, tasks);
    const measured = { ...seen, engineSeconds, steps };
    return { measured, ...sameForSimulation(tasks, (key) => counted.get(key)!) };
  } finally {
    await gateway.close();
  }
}

async function play(url: string, tasks: readonly PlainTask[]): Promise<Omit<Outcome, "engineSeconds" | "steps">> {
  const scope = new AsyncLocalStorage<ServingStateReceipt>();
  const fetchWith = topasFetch(fetch, () => scope.getStore());
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0, timeout: 600_000, fetch: fetchWith });
  const ttft: number[] = [];
  const started = performance.now();
  const spans = await Promise.all(
    tasks.map(async (task) => {
      await sleep(task.arrivalSeconds * 1000 - (performance.now() - started));
      const arrived = performance.now();
      for (const [i, agent] of task.agents.entries()) {
        const sent = performance.now();
        const first = await scope.run(receiptOf(task, i), () => oneCall(client, messagesOf(task.id, agent, i)));
        ttft.push((first - sent) / 1000);
      }
      return (performance.now() - arrived) / 1000;
    }),
  );
  const totalSeconds = (performance.now() - started) / 1000;
  return { meanTaskSeconds: mean(spans), meanTtftSeconds: mean(ttft), totalSeconds };
}

/** When its first token came. */
async function oneCall(client: OpenAI, messages: OpenAI.ChatCompletionMessageParam[]): Promise<number> {
  const stream = await client.chat.completions.create({
    model: "default",
    stream: true,
    temperature: 0,
    max_tokens: OUTPUT_TOKENS,
    messages,
    ...EXACT_LENGTH,
  });
  let first: number | null = null;
  let finish: string | null = null;
  for await (const chunk of stream) {
    const [choice] = chunk.choices;
    if ((choice?.delta.content ?? "") !== "") first ??= performance.now();
    finish = choice?.finish_reason ?? finish;
  }
  if (finish !== "length" || first === null) throw new Error(`a call ended with ${finish}`);
  return first;
}

function receiptOf(task: PlainTask, stage: number): ServingStateReceipt {
  return {
    spec: "topas.receipt/1",
    authority: "none",
    taskId: task.id,
    workflowId: "supervisor",
    stage: CHAIN[stage]!,
    agent: task.agents[stage]!,
    final: stage === CHAIN.length - 1,
    graph: { stages: CHAIN.map((id, i) => ({ id, agent: task.agents[i]! })), edges: EDGES },
  };
}

const EDGES = CHAIN.slice(1).map((stage, i): [string, string] => [CHAIN[i]!, stage]);

function messagesOf(task: string, agent: Agent, stage: number): { role: "system" | "user"; content: string }[] {
  const seed = Number(task.slice(-2)) * 10 + stage + 1;
  return [
    { role: "system", content: words(AGENTS[agent], 1000 + Object.keys(AGENTS).indexOf(agent)) },
    { role: "user", content: words(INPUT_TOKENS, seed) },
  ];
}

function sameForSimulation(
  tasks: readonly PlainTask[],
  countedOf: (key: string) => { readonly prefix: number; readonly own: number },
): Pick<LlamaRun, "agents" | "tasks"> {
  const prefixes = new Map<string, number>();
  const same = tasks.map(({ id, arrivalSeconds, agents }): SimTask => {
    const stages = agents.map((agent, i) => {
      const { prefix, own } = countedOf(`${id}/${CHAIN[i]}`);
      prefixes.set(agent, prefix);
      return {
        id: CHAIN[i]!,
        agent,
        rounds: [{ promptTokens: own, outputTokens: OUTPUT_TOKENS, toolWaitSeconds: 0 }],
      };
    });
    const graph = { stages: stages.map((stage) => ({ id: stage.id, agent: stage.agent })), edges: EDGES };
    return { id, arrivalSeconds, workflow: "supervisor", graph, stages };
  });
  return { agents: [...prefixes].map(([name, prefixTokens]) => ({ name, prefixTokens })), tasks: same };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
