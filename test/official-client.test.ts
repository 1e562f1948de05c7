import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LlamaEngine, ensureModel } from "@topas/engines/llama";
import { startGateway, type RunningGateway } from "@topas/gateway";
import { topasFetch } from "@topas/receipt/client";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const exactLength = { ignore_eos: true };

/** The whole product: official client, HTTP, receipt, decision, real KV cache, real stream. */
describe("official openai client against the embedded engine", () => {
  let gateway: RunningGateway;
  let client: OpenAI;
  const messages = [
    { role: "system" as const, content: `You are a planner. ${"Plan with care, one step at a time. ".repeat(8)}` },
    { role: "user" as const, content: "Plan a picnic." },
  ];

  beforeAll(async () => {
    const modelPath = await ensureModel("nano1m", mkdtempSync(join(tmpdir(), "topas-model-")));
    const engine = new LlamaEngine({ modelPath, kvTokens: 2048, mode: "exact" });
    gateway = await startGateway({ engine, policy: "topas", host: "127.0.0.1", port: 0, keys: new Map(), logLevel: "silent" });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "unused", maxRetries: 0 });
  }, 30_000);
  afterAll(() => gateway.close());

  it("answers a plain completion with exact usage", async () => {
    const answer = await client.chat.completions.create({
      model: "default",
      max_tokens: 8,
      temperature: 0,
      messages,
      ...exactLength,
    });
    expect(answer.choices[0]?.finish_reason).toBe("length");
    expect(answer.usage?.completion_tokens).toBe(8);
    expect(answer.usage?.total_tokens).toBe((answer.usage?.prompt_tokens ?? 0) + 8);
  });

  it("streams the same text as it answers at once, and reuses the agent's prefix", async () => {
    const plain = await client.chat.completions.create({
      model: "default",
      max_tokens: 24,
      temperature: 0,
      messages,
      ...exactLength,
    });
    const stream = await client.chat.completions.create({
      model: "default",
      max_tokens: 24,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      messages,
      ...exactLength,
    });
    let text = "";
    let usage: OpenAI.CompletionUsage | null | undefined = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe(plain.choices[0]?.message.content);
    expect(usage?.completion_tokens).toBe(24);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(50);
  });

  it("gives equal seeds equal text", async () => {
    const one = await client.chat.completions.create({
      model: "default",
      max_tokens: 16,
      temperature: 1,
      seed: 5,
      messages,
      ...exactLength,
    });
    const two = await client.chat.completions.create({
      model: "default",
      max_tokens: 16,
      temperature: 1,
      seed: 5,
      messages,
      ...exactLength,
    });
    expect(two.choices[0]?.message.content).toBe(one.choices[0]?.message.content);
  });

  it("takes a receipt from topasFetch and can explain the call afterwards", async () => {
    const withReceipt = new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: "unused",
      maxRetries: 0,
      fetch: topasFetch(fetch, () => ({
        taskId: "picnic-1",
        workflowId: "picnic",
        stage: "plan",
        agent: "planner",
        graph: {
          stages: [
            { id: "plan", agent: "planner" },
            { id: "shop", agent: "shopper" },
          ],
          edges: [["plan", "shop"]],
        },
      })),
    });
    const { response } = await withReceipt.chat.completions.create({ model: "default", max_tokens: 4, messages }).withResponse();
    expect(response.headers.get("x-topas-receipt-status")).toBe("ok");
    const id = response.headers.get("x-topas-request-id");
    const why = (await (await fetch(`${gateway.url}/v1/explain/${id}`)).json()) as {
      status: string;
      stage: string;
      needTokens: number;
    };
    expect(why.status).toBe("done");
    expect(why.stage).toBe("plan");
    expect(why.needTokens).toBeGreaterThan(0);
  });

  it("aborts: the KV of the call is free again", async () => {
    const stream = await client.chat.completions.create({
      model: "default",
      max_tokens: 1500,
      stream: true,
      messages,
      ...exactLength,
    });
    for await (const _ of stream) break;
    for (let i = 0; i < 200 && gateway.loop.snapshot().running.length > 0; i++) await new Promise((r) => setTimeout(r, 10));
    expect(gateway.loop.snapshot().running).toEqual([]);
    expect(gateway.loop.snapshot().kv.running).toBe(0);
  });

  it("refuses what can never fit, at arrival, with both numbers", async () => {
    const error = await client.chat.completions
      .create({ model: "default", max_tokens: 4000, messages: [{ role: "user", content: "x ".repeat(3000) }] })
      .then(
        () => null,
        (e: unknown) => e as InstanceType<typeof OpenAI.APIError>,
      );
    expect(error?.status).toBe(400);
    expect(error?.code).toBe("context_length_exceeded");
    expect(error?.message).toMatch(/2048/);
  });

  it("serves a call whose receipt is rubbish, and says so", async () => {
    const { response } = await client.chat.completions
      .create({ model: "default", max_tokens: 4, messages }, { headers: { "x-topas-receipt": "%%%not-base64%%%" } })
      .withResponse();
    expect(response.status).toBe(200);
    expect(response.headers.get("x-topas-receipt-status")).toMatch(/^ignored:/);
    expect(response.headers.get("x-topas-receipt-warning")).toBeTruthy();
  });
});
