// The official client against a running gateway: one streamed chat completion. Usage: node tools/smoke-client.mjs BASE_URL
import OpenAI from "openai";

const baseURL = process.argv[2];
const client = new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0 });
const stream = await client.chat.completions.create({
  model: "default",
  stream: true,
  max_tokens: 16,
  messages: [
    { role: "system", content: "You are a planner." },
    { role: "user", content: "Plan a picnic." },
  ],
});
let chunks = 0;
let finish = null;
for await (const chunk of stream) {
  chunks++;
  finish ??= chunk.choices[0]?.finish_reason ?? null;
}
if (chunks < 2 || finish === null) throw new Error(`expected a stream, got ${chunks} chunks, finish ${finish}`);
console.log(`streamed ${chunks} chunks, finish_reason ${finish}`);
