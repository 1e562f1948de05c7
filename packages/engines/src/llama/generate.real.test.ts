/** What one call generates: lengths, ends, stop strings, seeds, refusals, usage. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sampling } from "../engine.ts";
import type { LlamaEngine } from "./engine.ts";
import { call, GREEDY, prefixEntry, promptOf, SAMPLED, startEngine, words } from "./testing/kit.ts";

let engine: LlamaEngine;
beforeAll(async () => {
  engine = await startEngine("nano1m", { chunkTokens: 64 });
});
afterAll(() => engine.close());

const PROMPT = words(30, 1);
const free: Sampling = { ...SAMPLED, temperature: 3, ignoreEos: false };

describe("length", () => {
  test.each([1, 2, 17, 300])("exactly %i tokens when the end is ignored", async (maxTokens) => {
    const { tokens, end } = await call(engine, promptOf(PROMPT), { maxTokens, sampling: { ...SAMPLED, temperature: 3 } });
    expect(tokens).toHaveLength(maxTokens);
    expect(end).toMatchObject({ reason: "length", usage: { completionTokens: maxTokens, promptTokens: 30, computedTokens: 30 } });
  });

  test("an end token ends the call, is counted and has no bytes", async () => {
    // Random weights at a high temperature draw the end token within some thousand tokens; the seed is fixed.
    for (let seed = 1; ; seed++) {
      const { tokens, end } = await call(engine, promptOf(PROMPT), { maxTokens: 900, sampling: { ...free, seed } });
      expect(seed).toBeLessThan(40);
      if (end.reason === "length") continue;
      expect(end.reason).toBe("stop");
      expect(tokens.at(-1)).toBe(2);
      expect(tokens.indexOf(2)).toBe(tokens.length - 1);
      expect(end.usage.completionTokens).toBe(tokens.length);
      const on = await call(engine, promptOf(PROMPT), {
        maxTokens: tokens.length + 5,
        sampling: { ...free, seed, ignoreEos: true },
      });
      expect(on.tokens.slice(0, tokens.length)).toEqual(tokens);
      expect(on.tokens).toHaveLength(tokens.length + 5);
      return;
    }
  });
});

describe("stop strings", () => {
  test("every cut of the text, at whatever byte, ends the call there", async () => {
    const whole = await call(engine, promptOf(PROMPT), { sampling: SAMPLED, maxTokens: 40 });
    // Byte tokens may make text that is not UTF-8: a stop string cannot name it.
    const clean = (length: number, after: number): string => {
      for (let at = after; at + length <= whole.text.length - 8; at++) {
        const part = whole.text.slice(at, at + length);
        if (!part.includes("\ufffd")) return part;
      }
      throw new Error(`no clean text in ${whole.text}`);
    };
    for (const [length, after] of [
      [1, 0],
      [4, 3],
      [7, 9],
      [9, 20],
    ] as const) {
      const stop = clean(length, after);
      const cut = await call(engine, promptOf(PROMPT), { sampling: SAMPLED, maxTokens: 40, stop: ["never there", stop] });
      expect(cut.end.reason).toBe("stop");
      expect(cut.text).toBe(whole.text.slice(0, whole.text.indexOf(stop)));
      expect(cut.tokens.length).toBeLessThan(40);
      expect(cut.tokens).toEqual(whole.tokens.slice(0, cut.tokens.length));
    }
  });

  test("text held back is given out when the call ends otherwise", async () => {
    const whole = await call(engine, promptOf(PROMPT), { sampling: SAMPLED, maxTokens: 10 });
    const same = await call(engine, promptOf(PROMPT), { sampling: SAMPLED, maxTokens: 10, stop: [`${whole.text}!`] });
    expect(same.end.reason).toBe("length");
    expect(same.text).toBe(whole.text);
  });
});

describe("sampling", () => {
  test("equal seeds give equal tokens, other seeds others", async () => {
    const run = async (sampling: Sampling): Promise<number[]> => (await call(engine, promptOf(PROMPT), { sampling })).tokens;
    const one = await run(SAMPLED);
    expect(await run(SAMPLED)).toEqual(one);
    expect(await run({ ...SAMPLED, seed: 8 })).not.toEqual(one);
  });

  test.each<[string, Partial<Sampling>]>([
    ["topK 1", { topK: 1 }],
    ["a tiny topP", { topP: 1e-6 }],
    ["minP 1", { minP: 1 }],
  ])("%s leaves only the most likely token", async (_name, narrow) => {
    const greedy = await call(engine, promptOf(PROMPT), { sampling: GREEDY });
    const narrowed = await call(engine, promptOf(PROMPT), { sampling: { ...SAMPLED, ...narrow } });
    expect(narrowed.tokens).toEqual(greedy.tokens);
  });
});

describe("refusals", () => {
  test.each<[string, Parameters<typeof call>[1], Parameters<typeof call>[2], string]>([
    ["a prompt that can never fit", promptOf(words(1025, 1)), {}, "context_length_exceeded"],
    ["a prompt whose output can never fit", promptOf(words(1000, 1)), { maxTokens: 25 }, "context_length_exceeded"],
    ["no prompt", promptOf([]), {}, "empty_prompt"],
    ["no output", promptOf(PROMPT), { maxTokens: 0 }, "invalid_request"],
    ["a token that does not exist", promptOf([1, 5000]), {}, "invalid_request"],
    ["a negative token", promptOf([1, -1]), {}, "invalid_request"],
    ["the random seed", promptOf(PROMPT), { sampling: { ...SAMPLED, seed: 0xffffffff } }, "invalid_request"],
    ["a negative temperature", promptOf(PROMPT), { sampling: { ...SAMPLED, temperature: -1 } }, "invalid_request"],
    ["a prefix longer than the prompt", promptOf(PROMPT, { id: "long", tokens: 31 }), {}, "invalid_request"],
  ])("%s", async (_name, prompt, options, code) => {
    const { end, tokens } = await call(engine, prompt, options);
    expect(end).toMatchObject({ reason: "refused", error: { code, retryable: false }, usage: { completionTokens: 0 } });
    expect(tokens).toEqual([]);
  });

  test("a prompt that does not begin with the prefix of that id", async () => {
    await call(engine, promptOf(PROMPT, { id: "mine", tokens: 20 }));
    const { end } = await call(engine, promptOf(words(30, 2), { id: "mine", tokens: 20 }));
    expect(end).toMatchObject({ reason: "refused", error: { code: "prefix_mismatch" } });
  });

  test("an id in flight", async () => {
    const [first, second] = await Promise.all([
      call(engine, promptOf(PROMPT), {}, "twice"),
      call(engine, promptOf(PROMPT), {}, "twice"),
    ]);
    expect(first.end.reason).toBe("length");
    expect(second.end.error?.code).toBe("duplicate_request_id");
  });

  test("the longest call that fits runs to its end", async () => {
    const { end } = await call(engine, promptOf(words(1000, 1)), { maxTokens: 24 });
    expect(end).toMatchObject({ reason: "length", usage: { completionTokens: 24 } });
  });
});

describe("usage", () => {
  test("a prompt that is its prefix computes one token of its own", async () => {
    const prompt = promptOf(PROMPT, { id: "whole", tokens: PROMPT.length });
    const first = await call(engine, prompt);
    const second = await call(engine, prompt);
    expect(first.end.usage).toMatchObject({ cachedTokens: 0, computedTokens: 31 });
    expect(second.end.usage).toMatchObject({ cachedTokens: 29, computedTokens: 1 });
    expect(second.tokens).toEqual(first.tokens);
  });

  test("calls that wait for one prefix share it; the first pays", async () => {
    const prefix = { id: "together", tokens: 200 };
    const prompts = [1, 2, 3].map((salt) => promptOf([...words(200, 5), ...words(10, salt)], prefix));
    const done = await Promise.all(prompts.map((prompt) => call(engine, prompt)));
    expect(done.map(({ end }) => [end.usage.cachedTokens, end.usage.computedTokens])).toEqual([
      [0, 210],
      [200, 10],
      [200, 10],
    ]);
  });

  test("a prefix loaded beforehand is found by all", async () => {
    const prefix = { id: "ahead", tokens: 100 };
    const prompt = promptOf([...words(100, 6), ...words(10, 1)], prefix);
    const entry = prefixEntry("ahead");
    const early = call(engine, prompt, { maxTokens: 1 });
    engine.cancel("nobody");
    await early;
    await engine.apply([{ op: "evict", entry, keepHost: false }]);
    const [loaded] = await engine.apply([{ op: "load", entry }]);
    expect(loaded).toMatchObject({ outcome: "enforced", tokens: 100, bytes: 0 });
    expect((await call(engine, prompt)).end.usage).toMatchObject({ cachedTokens: 100, computedTokens: 10 });
  });
});

describe("prompts", () => {
  test("a chat's prefix is shared by calls with other questions", async () => {
    const ask = (question: string) =>
      engine.prepare({
        kind: "chat",
        tenant: "t",
        messages: [
          { role: "system", content: "w001 w002 w003 w004 w005 w006 w007 w008 w009 w010 w011 w012 w013" },
          { role: "user", content: question },
        ],
      });
    const [one, two] = [await ask("w100"), await ask("w200 w201")];
    expect(one.exact).toBe(true);
    expect(one.prefix?.id).toBeDefined();
    expect(two.prefix).toEqual(one.prefix);
    await call(engine, one);
    const second = await call(engine, two);
    expect(second.end.usage.cachedTokens).toBe(one.prefix?.tokens);
  });

  test("text begins with BOS, token ids are taken as they are", async () => {
    const text = await engine.prepare({ kind: "text", tenant: "t", prompt: " w001 w002" });
    expect(text.tokens?.[0]).toBe(1);
    const ids = await engine.prepare({ kind: "text", tenant: "t", prompt: [400, 401] });
    expect([...(ids.tokens ?? [])]).toEqual([400, 401]);
  });
});
