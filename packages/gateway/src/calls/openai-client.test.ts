import OpenAI from "openai";
import { afterEach, expect, test } from "vitest";
import { answer, createRig, until, usage, type Rig } from "../testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

const NASTY = "漢字🚀«garçon»क्षि";
const client = () => new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: "sk-any", maxRetries: 0 });
const messages = [{ role: "user" as const, content: "hi" }];

test("plain, models, stream, include_usage", async () => {
  rig = await createRig({}, true);
  rig.scheduler.run = answer(["Hel", "lo ", NASTY], { cachedTokens: 2 });
  const plain = await client().chat.completions.create({ model: "made-1", messages });
  expect([plain.choices[0]?.message.content, plain.usage?.prompt_tokens_details?.cached_tokens]).toEqual([`Hello ${NASTY}`, 2]);
  expect(plain._request_id).toBe(rig.scheduler.calls[0]?.id);
  expect((await client().models.list()).data[0]?.id).toBe("made-1");
  let text = "";
  let total = 0;
  for await (const chunk of await client().chat.completions.create({
    model: "made-1",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    text += chunk.choices[0]?.delta.content ?? "";
    total = chunk.usage?.total_tokens ?? total;
  }
  expect([text, total]).toEqual([`Hello ${NASTY}`, 12]);
  const completion = await client().completions.create({ model: "made-1", prompt: "hi" });
  expect(completion.choices[0]?.text).toBe(`Hello ${NASTY}`);
});

test("abort reaches the scheduler; errors are its own classes, before and after the first byte", async () => {
  rig = await createRig({}, true);
  const controller = new AbortController();
  rig.scheduler.run = (call) => call.sink.token?.(1, Buffer.from("a"));
  const open = await client().chat.completions.create({ model: "made-1", messages, stream: true }, { signal: controller.signal });
  for await (const chunk of open) if (chunk.choices[0]?.delta.content === "a") controller.abort();
  await until(() => rig.scheduler.cancelled.length === 1);
  rig.scheduler.refuseNext = "queue_full";
  await expect(client().chat.completions.create({ model: "made-1", messages })).rejects.toMatchObject({
    status: 429,
    code: "queue_full",
  });
  rig.scheduler.run = (call) => {
    call.sink.token?.(1, Buffer.from("a"));
    call.sink.end({
      reason: "failed",
      usage: usage(),
      error: { code: "engine_lost", message: "gone", status: 503, retryable: true },
    });
  };
  const broken = async () => {
    for await (const chunk of await client().chat.completions.create({ model: "made-1", messages, stream: true })) void chunk;
  };
  await expect(broken()).rejects.toMatchObject({ code: "engine_lost" });
});
