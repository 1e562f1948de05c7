import { engineContract } from "../engine.contract.ts";
import { OpenAiEngine } from "./openai-engine.ts";
import type { Received } from "./testing/upstream.ts";
import { sseAnswer, startUpstream } from "./testing/upstream.ts";

/** Streams `max_tokens` deltas, one a turn, and reports system messages it has seen before as cached. */
function answering(): (request: Received) => Promise<void> {
  const seen = new Set<string>();
  return async ({ body, response }) => {
    const { messages, max_tokens: tokens } = JSON.parse(body.toString()) as {
      messages: { content: string }[];
      max_tokens: number;
    };
    const count = (text: string): number => text.split(" ").length;
    const system = messages[0]?.content ?? "";
    const cached = seen.has(system) ? count(system) : 0;
    seen.add(system);
    const prompt = messages.reduce((sum, { content }) => sum + count(content), 0);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const usage = { prompt_tokens: prompt, completion_tokens: tokens, prompt_tokens_details: { cached_tokens: cached } };
    for (const event of sseAnswer(tokens, usage, "length")) {
      if (response.destroyed) return;
      response.write(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}

engineContract(
  "openai, local upstream",
  async () => {
    const upstream = await startUpstream(answering());
    return { engine: new OpenAiEngine({ baseUrl: upstream.url }), dispose: () => upstream.close() };
  },
  { residency: "residency is the upstream's", sessions: "KV is the upstream's", repeatable: "cannot be preempted" },
);
