import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { topasFetch } from "@topas/receipt/client";
import type { ServingStateReceipt } from "@topas/receipt";
import OpenAI from "openai";
import { AGENTS, words, type DemoCall, type DemoTask } from "./workload.ts";

// The made model's text is noise and would end anywhere: lengths are part of the workload.
const EXACT_LENGTH = { ignore_eos: true };

export interface TaskOutcome {
  readonly id: string;
  /** Arrival of the task to the end of its last call, seconds; null: a call failed. */
  readonly seconds: number | null;
  readonly error: string | null;
}

/**
 * Plays the tasks against an OpenAI-compatible endpoint with the official client: every call carries a receipt with the
 * task's whole graph, its stage and its agent. A call that fails ends its task.
 */
export async function playTasks(url: string, tasks: readonly DemoTask[], signal: AbortSignal): Promise<TaskOutcome[]> {
  const scope = new AsyncLocalStorage<ServingStateReceipt>();
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "unused",
    maxRetries: 0,
    timeout: 600_000,
    fetch: topasFetch(fetch, () => scope.getStore()),
  });
  const prompts = new Map(Object.entries(AGENTS).map(([agent, tokens], i) => [agent, words(tokens, 1000 + i)]));
  const started = performance.now();
  return Promise.all(
    tasks.map(async (task): Promise<TaskOutcome> => {
      await sleep(Math.max(0, task.arrivalMs - (performance.now() - started)), undefined, { signal });
      const arrived = performance.now();
      try {
        await playTask(
          task,
          (call) => scope.run(receiptOf(task, call), () => oneCall(client, task, call, prompts.get(call.agent) ?? "", signal)),
          signal,
        );
        return { id: task.id, seconds: (performance.now() - arrived) / 1000, error: null };
      } catch (error) {
        if (signal.aborted) throw error;
        return { id: task.id, seconds: null, error: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}

async function playTask(task: DemoTask, send: (call: DemoCall) => Promise<void>, signal: AbortSignal): Promise<void> {
  const done = new Map<string, Promise<void>>();
  for (const call of task.calls) {
    const before = call.after.map((stage) => done.get(stage) ?? Promise.resolve());
    const mine = Promise.all(before).then(async () => {
      if (call.thinkMs > 0) await sleep(call.thinkMs, undefined, { signal });
      await send(call);
    });
    mine.catch(() => {});
    done.set(call.stage, mine);
  }
  await Promise.all(done.values());
}

async function oneCall(client: OpenAI, task: DemoTask, call: DemoCall, system: string, signal: AbortSignal): Promise<void> {
  const seed = hash(`${task.id}/${call.stage}`);
  const stream = await client.chat.completions.create(
    {
      model: "default",
      stream: true,
      temperature: 0,
      max_tokens: call.outputTokens,
      messages: [
        { role: "system", content: system },
        { role: "user", content: words(call.inputTokens, seed) },
      ],
      ...EXACT_LENGTH,
    },
    { signal },
  );
  let finish: string | null = null;
  for await (const chunk of stream) finish = chunk.choices[0]?.finish_reason ?? finish;
  if (finish !== "length") throw new Error(`expected ${call.outputTokens} tokens, finish_reason was ${finish}`);
}

function receiptOf(task: DemoTask, call: DemoCall): ServingStateReceipt {
  const output = call.outputTokens;
  return {
    spec: "topas.receipt/1",
    authority: "none",
    taskId: task.id,
    workflowId: task.workflow,
    stage: call.stage,
    agent: call.agent,
    final: task.calls.at(-1)?.stage === call.stage,
    graph: {
      stages: task.calls.map((c) => ({ id: c.stage, agent: c.agent })),
      edges: task.calls.flatMap((c) => c.after.map((from): [string, string] => [from, c.stage])),
    },
    expectedOutputTokens: { value: output, unit: "tokens", source: "declared", asOf: new Date().toISOString() },
  };
}

function hash(text: string): number {
  let h = 2166136261;
  for (const char of text) h = Math.imul(h ^ (char.codePointAt(0) ?? 0), 16777619);
  return h >>> 0;
}
