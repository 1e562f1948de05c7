import { expect, test } from "vitest";
import { GatewayError } from "../../errors.ts";
import { parseChatRequest, parseTextRequest } from "./request.ts";

const message = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (GatewayError.isInstance(error)) return `${error.param}: ${error.message}`;
    throw error;
  }
  return "taken";
};
const messages = [{ content: "hi", role: "user", name: "x" }];

test("every member in the scheduler's terms; unknown ones are tolerated, messages stay the client's own", () => {
  const parsed = parseChatRequest(
    {
      messages,
      tools: [{ a: 1 }],
      max_tokens: 9,
      max_completion_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      top_k: -1,
      min_p: 0.1,
      seed: -1,
      ignore_eos: true,
      stop: ["a"],
      nobody_knows: 1,
    },
    "acme",
  );
  expect(parsed).toEqual({
    kind: "chat",
    model: null,
    prompt: { kind: "chat", tenant: "acme", messages, tools: [{ a: 1 }] },
    maxTokens: 7,
    sampling: { temperature: 0, topP: 0.5, topK: 0, minP: 0.1, seed: -1, ignoreEos: true },
    stop: ["a"],
    stream: false,
    includeUsage: false,
    logprobs: false,
  });
  expect(parsed.prompt.kind === "chat" && parsed.prompt.messages).toBe(messages);
});

test("null means absent, as official clients send it", () => {
  const nulls = Object.fromEntries(
    ["model", "max_tokens", "temperature", "seed", "stop", "stream", "stream_options", "n", "logprobs", "tools"].map((name) => [
      name,
      null,
    ]),
  );
  expect(message(() => parseChatRequest({ messages, ...nulls }, "t"))).toBe("taken");
});

test("faults name member and remedy", () => {
  const chat = (extra: object) => message(() => parseChatRequest({ messages, ...extra }, "t"));
  expect(chat({ n: 2 })).toBe("n: n: this gateway computes one choice a call: leave n out or send 1");
  expect(chat({ messages: [...messages, "x"] })).toBe("messages.1: messages.1: must be an object");
  expect(chat({ messages: [] })).toBe("messages: messages: needs at least 1");
  expect(chat({ stop: [] })).toBe("taken");
  expect(chat({ stop: ["a", "b", "c", "d", "e"] })).toContain("stop: stop: ");
  expect(message(() => parseTextRequest({}, "t"))).toBe("prompt: prompt: send one prompt: a string, or an array of token ids");
  expect(message(() => parseTextRequest({ prompt: [] }, "t"))).toContain("one prompt");
});

test("K27: millions of bad items cost no more than the first", () => {
  const start = performance.now();
  const many = Array.from({ length: 3_000_000 }, () => -1);
  expect(message(() => parseTextRequest({ prompt: many }, "t"))).toContain("one prompt");
  expect(message(() => parseChatRequest({ messages: many }, "t"))).toContain("messages.0");
  expect(message(() => parseChatRequest({ messages, stop: many }, "t"))).toContain("stop");
  expect(performance.now() - start).toBeLessThan(500);
});
