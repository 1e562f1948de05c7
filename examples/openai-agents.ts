/**
 * OpenAI Agents SDK: triage hands over to a writer. A real model decides the handoff by a tool call; the made model of the demo
 * gateway writes noise and never does, so the program hands over itself. Either way each call names the agent that makes it.
 * Start the gateway (`npm start`), then: node --conditions=@topas/source --import tsx examples/openai-agents.ts
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Agent, OpenAIChatCompletionsModel, handoff, run, setTracingDisabled } from "@openai/agents";
import { topasFetch } from "@topas/receipt/client";
import { agentTasks } from "@topas/receipt/openai-agents";
import OpenAI from "openai";
import { baseURL, noting, report } from "./seen.ts";

setTracingDisabled(true); // Tracing posts every run to the vendor.
const tasks = agentTasks(new AsyncLocalStorage());
const client = new OpenAI({ baseURL, apiKey: "unused", fetch: topasFetch(noting, tasks.context, { baseURL }) });
const model = new OpenAIChatCompletionsModel(client, "default");

const writer = new Agent({
  name: "writer",
  instructions: "You are a writer. Answer the customer.",
  model: tasks.modelOf("writer", model),
  modelSettings: { maxTokens: 16 },
});
const triage = new Agent({
  name: "triage",
  instructions: "You are a clerk. Hand over to the writer.",
  model: tasks.modelOf("triage", model),
  modelSettings: { maxTokens: 16 },
  handoffs: [handoff(writer)],
});

const taskId = `openai-agents-${process.pid}`;
await tasks.withTask({ taskId, workflowId: "support" }, async () => {
  const first = await run(triage, "Where is my parcel?");
  if (first.lastAgent === writer) return console.log("handed over by the model:", first.finalOutput);
  const second = await run(writer, [...first.history, { role: "user", content: "Please answer." }]);
  console.log("handed over by the program:", second.finalOutput);
});
await report(taskId);
