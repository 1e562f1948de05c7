/**
 * Vercel AI SDK: the application opens a stage for each part of its work. `look` is a loop of model, tool, model; the made model
 * of the demo gateway never asks for a tool, so the program calls it between two rounds. With a real model give `execute` the
 * same `withToolWait`. Start the gateway (`npm start`), then: node --conditions=@topas/source --import tsx examples/ai-sdk.ts
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout } from "node:timers/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stages } from "@topas/receipt/ai-sdk";
import { topasFetch } from "@topas/receipt/client";
import { generateText } from "ai";
import { baseURL, noting, report } from "./seen.ts";

const { withTask, withStage, withToolWait, context } = stages(new AsyncLocalStorage());
const provider = createOpenAICompatible({ name: "topas", baseURL, fetch: topasFetch(noting, context, { baseURL }) });
const model = provider("default");

async function ask(system: string, prompt: string): Promise<string> {
  const { text } = await generateText({ model, system, prompt, maxOutputTokens: 16 });
  return text;
}

async function lookUp(): Promise<string> {
  await setTimeout(100);
  return "It is sunny.";
}

const task = {
  taskId: `ai-sdk-${process.pid}`,
  workflowId: "picnic",
  graph: {
    stages: [
      { id: "plan", agent: "planner" },
      { id: "look", agent: "scout", rounds: { max: 4, mean: 2 } },
      { id: "write", agent: "writer" },
    ],
    edges: [["plan", "look"] as [string, string], ["look", "write"] as [string, string]],
  },
};
await withTask(task, async () => {
  const plan = await withStage({ stage: "plan" }, () => ask("You are a planner.", "Plan a picnic."));
  const facts = await withStage({ stage: "look" }, async () => {
    const question = await ask("You are a scout. Ask for one fact.", plan);
    const fact = await withToolWait({ baseURL, seconds: 0.1 }, lookUp);
    return ask("You are a scout. Ask for one fact.", `${question}\n${fact}`);
  });
  console.log(await withStage({ stage: "write", final: true }, () => ask("You are a writer.", `${plan}\n${facts}`)));
});
await report(task.taskId);
