/**
 * From messages to exact token ids and the shareable prefix. The prefix is what two renderings with other user messages have in
 * common (system messages and tools), as tokens; it is tokenised once per (tenant, system, tools) and reused, so its ids are equal
 * whatever follows.
 */
import { contentText, leadingSystem } from "../chat-content.ts";
import type { ChatMessage, PreparedPrompt, PromptInput } from "../engine.ts";
import { EngineError } from "../engine.ts";
import { frameHash, MIN_PREFIX_TOKENS, prefixId } from "../prefix-id.ts";
import type { ChatTemplate, Piece, Rendering } from "./template.ts";
import { loadChatTemplate } from "./template.ts";

export interface PromptOptions {
  /** The model's Jinja template; null: chats are refused, text prompts work. */
  readonly template: string | null;
  /** Text of the control tokens, empty when the model has none. */
  readonly bosToken: string;
  readonly eosToken: string;
  readonly modelId: string;
  /** `special`: control tokens written in the text are meant. `bos`: add the tokens the model wants in front of a prompt. */
  readonly tokenize: (text: string, options: { readonly special: boolean; readonly bos: boolean }) => Promise<Int32Array>;
  /** Prefixes remembered; the least recently used is forgotten. */
  readonly memoSize?: number;
}

export interface PromptPreparer {
  /**
   * Rejects with an EngineError: `template_missing`, `template_failed`, `unsupported_content`, `control_tokens`, `empty_prompt` (400),
   * `template_invalid` (500).
   */
  prepare(input: PromptInput): Promise<PreparedPrompt>;
}

/** A leading part seen before: these pieces, these tokens. `id` is null when it is too short to share. */
interface Known {
  readonly pieces: readonly Piece[];
  readonly tokens: Int32Array;
  readonly id: string | null;
}

/** Role names that templates know; any other is checked like text. */
const ROLES: ReadonlySet<string> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

export function createPromptPreparer(options: PromptOptions): PromptPreparer {
  const { tokenize, modelId, bosToken } = options;
  const memo = new Map<string, Promise<Known | null>>();
  let loading: Promise<ChatTemplate> | null = null;

  const template = async (): Promise<ChatTemplate> => {
    if (options.template === null)
      throw new EngineError("template_missing", "the model has no chat template: send a text prompt", 400);
    loading ??= loadChatTemplate(options.template, { bos: bosToken, eos: options.eosToken });
    return loading;
  };

  /** Tokens of pieces; `first`: they open the prompt, so BOS goes in front unless the template wrote it. */
  const encode = (pieces: readonly Piece[], first: boolean): Promise<Int32Array[]> =>
    Promise.all(
      pieces.map(async ({ text, literal }, at) => {
        const bos = first && at === 0 && (literal || bosToken === "" || !text.startsWith(bosToken));
        return text === "" && !bos ? new Int32Array(0) : tokenize(text, { special: !literal, bos });
      }),
    );

  /** Rejects with `control_tokens` when a model that trusts `text` would read control tokens in it. */
  const requirePlain = async (text: string, where: string): Promise<void> => {
    if (text === "") return;
    const [trusted, plain] = await Promise.all([true, false].map((special) => tokenize(text, { special, bos: false })));
    if (Buffer.compare(bytesOf(trusted), bytesOf(plain)) === 0) return;
    throw new EngineError("control_tokens", `${where} contains text that this model reads as control tokens`, 400);
  };

  /** What the template writes from messages without a placeholder (names, tool calls, rewritten contents) must be plain. */
  const requirePlainFields = (messages: readonly ChatMessage[], whole: boolean): Promise<void> => {
    const texts: string[] = [];
    for (const { content, role, ...fields } of messages) {
      if (!ROLES.has(role)) texts.push(role);
      texts.push(...stringsIn(fields));
      if (whole) texts.push(contentText(content) ?? "");
    }
    return requirePlain(texts.join(" "), "a message");
  };

  const learn = async (
    tenant: string,
    system: readonly ChatMessage[],
    tools: readonly unknown[] | undefined,
  ): Promise<Known | null> => {
    const chat = await template();
    await requirePlain(stringsIn(tools ?? []).join(" "), "a tool definition");
    const [one, two] = ["a", "b"].map((ask) => chat.render([...system, { role: "user", content: ask }], tools));
    if (one === undefined || two === undefined) return null;
    await requirePlainFields(system, one.whole);
    const pieces = commonPieces(one.pieces, two.pieces);
    if (pieces.length === 0) return null;
    const tokens = concat(await encode(pieces, true));
    return { pieces, tokens, id: tokens.length < MIN_PREFIX_TOKENS ? null : prefixId(tenant, modelId, tokens) };
  };

  const recall = (
    tenant: string,
    system: readonly ChatMessage[],
    tools: readonly unknown[] | undefined,
  ): Promise<Known | null> => {
    const key = frameHash([tenant, JSON.stringify(system), JSON.stringify(tools ?? [])]);
    const known = memo.get(key) ?? learn(tenant, system, tools);
    memo.delete(key);
    memo.set(key, known);
    void known.catch(() => memo.delete(key));
    const oldest = memo.keys().next().value;
    if (memo.size > (options.memoSize ?? 256) && oldest !== undefined) memo.delete(oldest);
    return known;
  };

  const prepareChat = async (input: Extract<PromptInput, { kind: "chat" }>): Promise<PreparedPrompt> => {
    const chat = await template();
    const rendering = chat.render(input.messages, input.tools);
    await requirePlainFields(input.messages, rendering.whole);
    const system = input.messages.slice(0, leadingSystem(input.messages));
    const known = await recall(input.tenant, system, input.tools);
    const rest = known === null ? null : after(rendering, known.pieces);
    if (known === null || rest === null) return finish(concat(await encode(rendering.pieces, true)), null);
    const tokens = concat([known.tokens, ...(await encode(rest, false))]);
    return finish(tokens, known.id === null ? null : { id: known.id, tokens: known.tokens.length });
  };

  const prepareText = async (input: Extract<PromptInput, { kind: "text" }>): Promise<PreparedPrompt> => {
    const { prompt, tenant } = input;
    const tokens =
      typeof prompt === "string" ? concat(await encode([{ literal: true, text: prompt }], true)) : Int32Array.from(prompt);
    const length = Math.min(input.prefixTokens ?? 0, tokens.length - 1);
    const prefix =
      length < MIN_PREFIX_TOKENS ? null : { id: prefixId(tenant, modelId, tokens.subarray(0, length)), tokens: length };
    return finish(tokens, prefix);
  };

  return { prepare: (input) => (input.kind === "chat" ? prepareChat(input) : prepareText(input)) };
}

/** Leading pieces both have; where template text differs, the part of it that is common. */
function commonPieces(one: readonly Piece[], two: readonly Piece[]): Piece[] {
  const common: Piece[] = [];
  for (const [at, piece] of one.entries()) {
    const other = two[at];
    if (other === undefined || other.literal !== piece.literal) break;
    if (other.text === piece.text) {
      common.push(piece);
      continue;
    }
    if (!piece.literal) {
      let length = 0;
      while (length < piece.text.length && piece.text[length] === other.text[length]) length++;
      if (length > 0) common.push({ literal: false, text: piece.text.slice(0, length) });
    }
    break;
  }
  return common;
}

/** What follows the known leading part in this rendering; null: it does not begin with it. */
function after(rendering: Rendering, known: readonly Piece[]): Piece[] | null {
  const { pieces, whole } = rendering;
  const lead = whole ? [{ literal: false, text: known.map(({ text }) => text).join("") }] : known;
  const last = lead.length - 1;
  for (const [at, { literal, text }] of lead.entries()) {
    const piece = pieces[at];
    if (piece === undefined || piece.literal !== literal) return null;
    if (at === last && !literal ? !piece.text.startsWith(text) : piece.text !== text) return null;
  }
  const tail = pieces[last]?.text.slice(lead[last]?.text.length) ?? "";
  return [...(tail === "" ? [] : [{ literal: false, text: tail }]), ...pieces.slice(last + 1)];
}

/** Every string inside a value, keys included. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return Object.entries(value).flatMap(([key, item]) => [key, ...stringsIn(item)]);
}

const bytesOf = (tokens: Int32Array | undefined): Uint8Array =>
  tokens === undefined ? new Uint8Array(0) : new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength);

function concat(parts: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function finish(tokens: Int32Array, prefix: PreparedPrompt["prefix"]): PreparedPrompt {
  if (tokens.length === 0) throw new EngineError("empty_prompt", "the prompt has no tokens", 400);
  return {
    tokens,
    promptTokens: tokens.length,
    exact: true,
    prefix: prefix !== null && prefix.tokens < tokens.length ? prefix : null,
  };
}
