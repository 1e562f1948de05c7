/** The scripted engine's tokens: one per word going in, a fixed function of the prompt coming out. */
import { contentText, leadingSystem } from "../chat-content.ts";
import type { PreparedPrompt, PromptInput } from "../engine.ts";
import { EngineError } from "../engine.ts";
import { prefixId } from "../prefix-id.ts";

/** FNV-1a over UTF-8 bytes, 31 bits: the token id of a word. */
export function wordToken(word: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(word, "utf8")) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 1;
}

/** One token per word with the white space before it, so that CR LF, LF and a no-break space differ; trailing space is one more. */
export function wordTokens(text: string): number[] {
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map(wordToken);
}

/** Renders and counts a prompt; the prefix is what stands before the first non-system message. */
export function prepareWords(input: PromptInput, model: string, minPrefixTokens: number): PreparedPrompt {
  const tokens: number[] = [];
  let shared = 0;
  if (input.kind === "text") {
    tokens.push(...(typeof input.prompt === "string" ? wordTokens(input.prompt) : input.prompt));
    shared = input.prefixTokens ?? 0;
  } else {
    const system = leadingSystem(input.messages);
    input.messages.forEach((message, index) => {
      if (index === system) shared = addTools(tokens, input.tools);
      tokens.push(wordToken(`<${message.role}>`), ...wordTokens(contentText(message.content) ?? ""));
      if (message["tool_calls"] !== undefined) tokens.push(...wordTokens(JSON.stringify(message["tool_calls"])));
    });
    if (system === input.messages.length) shared = addTools(tokens, input.tools);
    tokens.push(wordToken("<assistant>"));
  }
  if (tokens.length === 0) throw new EngineError("empty_prompt", "the prompt has no tokens", 400);
  const all = Int32Array.from(tokens);
  const length = Math.min(shared, all.length - 1);
  const prefix = length < minPrefixTokens ? null : { id: prefixId(input.tenant, model, all.subarray(0, length)), tokens: length };
  return { tokens: all, promptTokens: all.length, exact: true, prefix };
}

function addTools(tokens: number[], tools: readonly unknown[] | undefined): number {
  if (tools !== undefined && tools.length > 0) tokens.push(wordToken("<tools>"), ...wordTokens(JSON.stringify(tools)));
  return tokens.length;
}

export type ScriptedAlphabet = "words" | "utf8";

const CHARACTERS = ["é", "漢", "字", "🚀", "ñ", "क", "ß", "👩"].map((character) => Buffer.from(character, "utf8"));

/** Starting point of a call's output: its prompt and, when it samples, its seed. */
export function outputBase(tokens: Int32Array, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const token of tokens) hash = mix(hash ^ token);
  return hash >>> 0;
}

/** Token number `position` of an output. "utf8": every character comes as two tokens, its first byte and the rest. */
export function outputToken(base: number, position: number, alphabet: ScriptedAlphabet): { token: number; piece: Uint8Array } {
  if (alphabet === "words") {
    const word = ` w${mix(base + Math.imul(position + 1, 0x9e3779b1)) % 1_000}`;
    return { token: wordToken(word), piece: Buffer.from(word, "utf8") };
  }
  const index = mix(base + Math.imul((position >> 1) + 1, 0x9e3779b1)) % CHARACTERS.length;
  const bytes = CHARACTERS[index] ?? Buffer.alloc(0);
  return { token: index * 2 + (position & 1), piece: (position & 1) === 0 ? bytes.subarray(0, 1) : bytes.subarray(1) };
}

function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
