import { setTimeout as sleep } from "node:timers/promises";
import { predecessors, type SimAgent, type SimTask } from "@topas/sim";
import { markerOf } from "./exact-lengths.ts";
import type { JobOutcome, PlayContext } from "./types.ts";
import { words } from "./words.ts";

/** Tasks, and what their prompts are made of. Every call carries a receipt with the task's graph, its stage and its agent. */
export interface PlainTasks {
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
}

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

type Stage = SimTask["stages"][number];

/** A prompt's marker and its chat template take about so many tokens of every first message. */
const MARKER_TOKENS = 16;

/** Plays the tasks: stages as their predecessors end, rounds one after another, tool waits as given. A call that fails ends its task. */
export function playPlain(plain: PlainTasks, context: PlayContext): Promise<JobOutcome[]> {
  const systems = new Map(plain.agents.map(({ name, prefixTokens }) => [name, words(prefixTokens, 1, `agent ${name}`)]));
  return Promise.all(plain.tasks.map((task) => playTask(task, systems, context)));
}

async function playTask(task: SimTask, systems: ReadonlyMap<string, string>, context: PlayContext): Promise<JobOutcome> {
  const { signal, now } = context;
  try {
    await wait(task.arrivalSeconds - now(), signal);
    const before = predecessors(task);
    let left = task.stages.reduce((sum, { rounds }) => sum + rounds.length, 0);
    const running = new Map<string, Promise<void>>();
    const stageOf = new Map(task.stages.map((stage) => [stage.id, stage]));
    const run = (id: string): Promise<void> => {
      const known = running.get(id);
      if (known !== undefined) return known;
      const stage = stageOf.get(id)!;
      const made = Promise.all(before.get(id)!.map(run)).then(async () => {
        const messages: Message[] = [];
        const system = systems.get(stage.agent) ?? "";
        if (system !== "") messages.push({ role: "system", content: system });
        for (const [round, { promptTokens, toolWaitSeconds, maxTokens, outputTokens }] of stage.rounds.entries()) {
          messages.push(ask(task, stage, round, promptTokens));
          left -= 1;
          const body = { messages, max_tokens: maxTokens ?? outputTokens, topas: receiptOf(task, stage, left === 0) };
          messages.push({ role: "assistant", content: await oneCall(body, context) });
          await wait(toolWaitSeconds, signal);
        }
      });
      running.set(id, made);
      return made;
    };
    await Promise.all(task.stages.map(({ id }) => run(id)));
    return { id: task.id, doneSeconds: now(), status: "completed", error: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id: task.id, doneSeconds: null, status: signal.aborted ? "aborted" : "failed", error: message };
  }
}

function ask(task: SimTask, { id }: Stage, round: number, promptTokens: number): Message {
  const text = words(round === 0 ? Math.max(1, promptTokens - MARKER_TOKENS) : promptTokens, 2, `${task.id}/${id}/${round}`);
  return { role: "user", content: round === 0 ? `${markerOf(task.id, id)}${text}` : text };
}

async function oneCall(body: object, { url, signal }: PlayContext): Promise<string> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "default", temperature: 0, ...body }),
    signal,
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${(await response.text()).slice(0, 200)}`);
  const status = response.headers.get("x-topas-receipt-status");
  if (status !== "ok") throw new Error(`the gateway says of the receipt: ${status}`);
  const { choices } = (await response.json()) as { choices: { message: { content: string | null } }[] };
  return choices[0]?.message.content ?? "";
}

/** docs/receipt.md. */
function receiptOf(task: SimTask, stage: Stage, final: boolean): object {
  const { id, workflow, graph } = task;
  return {
    spec: "topas.receipt/1",
    authority: "none",
    taskId: id,
    ...(workflow === null ? {} : { workflowId: workflow }),
    stage: stage.id,
    agent: stage.agent,
    final,
    ...(stage.rounds.length > 1 ? { sessionKey: stage.id } : {}),
    ...(graph === null ? {} : { graph: { ...graph, stages: graph.stages.map(wireStage) } }),
  };
}

function wireStage(stage: NonNullable<SimTask["graph"]>["stages"][number]): object {
  const { id, agent, rounds, join, expectedOutputTokens } = stage;
  const declared = { unit: "tokens", source: "declared", asOf: DECLARED_AT };
  return {
    id,
    agent,
    ...(rounds === undefined ? {} : { rounds }),
    ...(join === undefined ? {} : { join }),
    ...(expectedOutputTokens === undefined ? {} : { expectedOutputTokens: { value: expectedOutputTokens, ...declared } }),
  };
}

/** The same in every run, so that every condition meets the same bytes. */
const DECLARED_AT = "2026-01-01T00:00:00Z";

async function wait(seconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new Error("stopped");
  if (seconds > 0) await sleep(seconds * 1_000, undefined, { signal });
}
