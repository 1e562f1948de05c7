/** Prompt sizes and prefix identity where only the upstream knows its tokenizer: four bytes a token, never called exact. */
import { leadingSystem } from "../chat-content.ts";
import type { ChatMessage, PreparedPrompt, PromptInput } from "../engine.ts";
import { frameHash, MIN_PREFIX_TOKENS, prefixId } from "../prefix-id.ts";

const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;

const tokensOf = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

export function estimatePrompt(input: PromptInput, defaultModel: string): PreparedPrompt {
  const model = input.model ?? defaultModel;
  return input.kind === "chat" ? estimateChat(input, model) : estimateText(input, model);
}

function estimateChat(input: Extract<PromptInput, { kind: "chat" }>, model: string): PreparedPrompt {
  const system = input.messages.slice(0, leadingSystem(input.messages));
  const tools = input.tools ?? [];
  const toolText = tools.length === 0 ? "" : JSON.stringify(tools);
  const shared = system.reduce((sum, message) => sum + textBytes(message), 0) + Buffer.byteLength(toolText);
  const own = input.messages.slice(system.length).reduce((sum, message) => sum + textBytes(message), 0);
  const prefixTokens = tokensOf(shared) + TOKENS_PER_MESSAGE * system.length;
  const promptTokens = prefixTokens + tokensOf(own) + TOKENS_PER_MESSAGE * (input.messages.length - system.length) + 1;
  const nothing = (system.length === 0 && tools.length === 0) || prefixTokens < MIN_PREFIX_TOKENS;
  const id = nothing ? null : frameHash(["text", input.tenant, model, JSON.stringify(system), toolText]);
  return { tokens: null, promptTokens, exact: false, prefix: id === null ? null : { id, tokens: prefixTokens } };
}

function estimateText(input: Extract<PromptInput, { kind: "text" }>, model: string): PreparedPrompt {
  const { prompt, tenant } = input;
  if (typeof prompt === "string") {
    // Where the declared prefix ends in the text is the upstream's secret: no identity can be given.
    return { tokens: null, promptTokens: Math.max(1, tokensOf(Buffer.byteLength(prompt))), exact: false, prefix: null };
  }
  const length = Math.min(input.prefixTokens ?? 0, prompt.length - 1);
  const id = length < MIN_PREFIX_TOKENS ? null : prefixId(tenant, model, Int32Array.from(prompt.slice(0, length)));
  return { tokens: null, promptTokens: prompt.length, exact: false, prefix: id === null ? null : { id, tokens: length } };
}

/** Bytes of a message's text; images and other parts are not counted. */
function textBytes({ content, tool_calls: calls }: ChatMessage): number {
  const called = calls === undefined ? 0 : Buffer.byteLength(JSON.stringify(calls) ?? "");
  if (typeof content === "string") return called + Buffer.byteLength(content);
  if (!Array.isArray(content)) return called;
  return content.reduce((sum: number, part: unknown) => {
    const text = typeof part === "object" && part !== null ? (part as { text?: unknown }).text : undefined;
    return typeof text === "string" ? sum + Buffer.byteLength(text) : sum;
  }, called);
}
