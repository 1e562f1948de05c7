/**
 * Two agents of one task, with the official client and a receipt on every call.
 * Start the gateway (`npm start`), then: node --conditions=@topas/source --import tsx examples/openai-client.ts [BASE_URL]
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { topasFetch } from "@topas/receipt/client";
import OpenAI from "openai";

const task = {
  taskId: `picnic-${process.pid}`,
  workflowId: "picnic",
  graph: {
    stages: [
      { id: "plan", agent: "planner" },
      { id: "write", agent: "writer" },
    ],
    edges: [["plan", "write"] as [string, string]],
  },
};
const stage = new AsyncLocalStorage<{ stage: string; agent: string; final?: boolean }>();
const client = new OpenAI({
  baseURL: process.argv[2] ?? "http://127.0.0.1:8900/v1",
  apiKey: "unused",
  fetch: topasFetch(fetch, () => ({ ...task, ...stage.getStore() })),
});

async function ask(system: string, question: string): Promise<string> {
  const { data, response } = await client.chat.completions
    .create({
      model: "default",
      max_tokens: 24,
      messages: [
        { role: "system", content: system },
        { role: "user", content: question },
      ],
    })
    .withResponse();
  console.log(stage.getStore()?.stage, "receipt", response.headers.get("x-topas-receipt-status"), data.usage);
  return data.choices[0]?.message.content ?? "";
}

const plan = await stage.run({ stage: "plan", agent: "planner" }, () =>
  ask("You are a planner. Plan in steps.", "Plan a picnic."),
);
const text = await stage.run({ stage: "write", agent: "writer", final: true }, () => ask("You are a writer. Write it up.", plan));
console.log(text);
