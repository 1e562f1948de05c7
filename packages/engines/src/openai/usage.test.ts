import { describe, expect, test } from "vitest";
import { findReason, findUsage, Tail } from "./usage.ts";

describe("usage in the last bytes of an answer", () => {
  test("OpenAI chat, Responses and Anthropic forms", () => {
    expect(
      findUsage('{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}'),
    ).toMatchObject({
      promptTokens: 9,
      cachedTokens: 4,
      completionTokens: 3,
      computedTokens: null,
    });
    expect(findUsage('"usage": {"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3}')).toMatchObject({
      promptTokens: 9,
      cachedTokens: 0,
      completionTokens: 3,
    });
    expect(
      findUsage('"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":1,"output_tokens":3}'),
    ).toMatchObject({
      promptTokens: 26,
      cachedTokens: 20,
    });
  });

  test("absent is null, never zero; double counting is bounded; nonsense is nothing", () => {
    expect(findUsage('{"usage":{"prompt_tokens":9,"completion_tokens":3}}').cachedTokens).toBeNull();
    expect(findUsage('{"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}').cachedTokens).toBeNull();
    expect(findUsage('{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":12}}}').cachedTokens).toBe(9);
    expect(findUsage('{"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}')).toMatchObject({
      promptTokens: null,
      completionTokens: null,
    });
    expect(findUsage('data: {"usage":null}\n\ndata: [DONE]').promptTokens).toBeNull();
    expect(findUsage('{"usage":{"prompt_tokens":9').promptTokens).toBeNull();
    expect(findUsage('"usage"').promptTokens).toBeNull();
  });

  test("the last object counts; a usage written by the model is text", () => {
    const early = 'data: {"usage":{"prompt_tokens":1}}\n\n';
    expect(findUsage(`${early}data: {"usage":{"prompt_tokens":2}}\n\ndata: {"usage":null}\n\n`).promptTokens).toBe(2);
    const spoken = JSON.stringify({ choices: [{ message: { content: '"usage":{"prompt_tokens":777}' } }] });
    expect(findUsage(`{"usage":{"prompt_tokens":3},"x":${spoken}}`).promptTokens).toBe(3);
  });

  test("reasons", () => {
    expect(findReason('"finish_reason":"length"')).toBe("length");
    expect(findReason('"stop_reason": "max_tokens"')).toBe("length");
    expect(findReason('"finish_reason":"tool_calls"')).toBe("stop");
  });

  test("the tail is bounded by bytes, whatever the chunks", () => {
    const tail = new Tail();
    for (let n = 0; n < 5_000; n++) tail.push(Buffer.from(`${n},`.padStart(50)));
    expect(tail.text()).toHaveLength(16_384);
    expect(tail.text().endsWith("4999,")).toBe(true);
    tail.push(Buffer.alloc(100_000, "x"));
    expect(tail.text()).toBe("x".repeat(16_384));
  });
});
