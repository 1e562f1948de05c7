import { describe, expect, test } from "vitest";
import type { PromptInput } from "../engine.ts";
import { StopCut } from "./stop-cut.ts";
import { outputBase, outputToken, prepareWords, wordTokens } from "./text.ts";

const chat = (system: string, user: string, tenant = "t"): PromptInput => ({
  kind: "chat",
  tenant,
  messages: [
    { role: "system", content: system },
    { role: "user", content: user },
  ],
});

describe("scripted prompts", () => {
  test("the prefix is the system part and the tools, and does not depend on the user message", () => {
    const one = prepareWords(chat("be brief and kind", "hello"), "m", 1);
    const two = prepareWords(chat("be brief and kind", "other words here"), "m", 1);
    expect(one.prefix).toEqual({ id: two.prefix?.id, tokens: 5 });
    expect(one.promptTokens).toBe(5 + 2 + 1);
    const input = chat("be brief and kind", "hello");
    expect(prepareWords({ ...input, tools: [{ type: "function" }] } as PromptInput, "m", 1).prefix?.id).not.toBe(one.prefix?.id);
    expect(prepareWords(chat("be brief and kind", "hello", "u"), "m", 1).prefix?.id).not.toBe(one.prefix?.id);
    expect(prepareWords(chat("be brief and kind", "hello"), "m", 16).prefix).toBeNull();
  });

  test.each([
    ["é composed or not", "caf\u00e9", "cafe\u0301"],
    ["zero-width joiner", "👩\u200d🚀", "👩🚀"],
    ["CR LF and LF", "a\r\nb", "a\nb"],
    ["no-break space", "a\u00a0b", "a b"],
  ])("looks equal, is not: %s", (_, one, two) => {
    expect(prepareWords(chat(one, "x"), "m", 1).prefix?.id).not.toBe(prepareWords(chat(two, "x"), "m", 1).prefix?.id);
  });

  test("a text prompt declares its prefix, at most all but one token", () => {
    const text = (prefixTokens: number) => prepareWords({ kind: "text", tenant: "t", prompt: "a b c d", prefixTokens }, "m", 1);
    expect(text(0).prefix).toBeNull();
    expect(text(2).prefix?.tokens).toBe(2);
    expect(text(9).prefix?.tokens).toBe(3);
  });

  test("output is a function of prompt and position; utf8 pieces split characters", () => {
    const base = outputBase(Int32Array.of(1, 2), 0);
    expect(outputToken(base, 3, "words")).toEqual(outputToken(outputBase(Int32Array.of(1, 2), 0), 3, "words"));
    expect(wordTokens(Buffer.from(outputToken(base, 3, "words").piece).toString())).toEqual([
      outputToken(base, 3, "words").token,
    ]);
    const pieces = Array.from({ length: 40 }, (_, position) => outputToken(base, position, "utf8").piece);
    expect(Buffer.concat(pieces).toString()).not.toContain("\ufffd");
    expect(pieces.every((piece, position) => position % 2 === 1 || piece.length === 1)).toBe(true);
  });
});

describe("stop strings", () => {
  const run = (stops: string[], pieces: string[]): { text: string; stopped: boolean } => {
    let text = "";
    const cut = new StopCut(stops, (_, piece) => (text += Buffer.from(piece).toString("latin1")));
    const stopped = pieces.some((piece, index) => cut.push(index, Buffer.from(piece, "latin1")));
    if (!stopped) cut.flush();
    return { text, stopped };
  };

  test("cut inside and across pieces, the earliest wins, a false start is passed on", () => {
    expect(run(["END"], ["hello E", "N", "D more"])).toEqual({ text: "hello ", stopped: true });
    expect(run(["xyz", "b"], ["ab", "c"])).toEqual({ text: "a", stopped: true });
    expect(run(["END"], ["E", "N", "x"])).toEqual({ text: "ENx", stopped: false });
    expect(run(["aab"], ["a", "a", "a", "b"])).toEqual({ text: "a", stopped: true });
    expect(run([""], ["a", "b"])).toEqual({ text: "ab", stopped: false });
  });
});
