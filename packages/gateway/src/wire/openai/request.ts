import { z } from "zod";
import type { ChatMessage, PromptInput } from "@topas/engines";
import { GatewayError } from "../../errors.ts";
import { toInvalidRequest } from "../../invalid.ts";
import { isTokenList, listOf, textFault, type ItemFault } from "./lists.ts";

/** What both endpoints share, in the terms of the scheduler. */
export interface CallRequest {
  readonly kind: "chat" | "completion";
  readonly model: string | null;
  readonly prompt: PromptInput;
  /** null: the client names none. */
  readonly maxTokens: number | null;
  readonly sampling: RequestedSampling;
  readonly stop: readonly string[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly logprobs: boolean;
}

export interface RequestedSampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  /** null: draw one. */
  readonly seed: number | null;
  readonly ignoreEos: boolean;
}

const limit = z.int().min(1).nullish();
const shared = {
  model: z.string().max(512).nullish(),
  max_tokens: limit,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  seed: z.int().nullish(),
  ignore_eos: z.boolean().nullish(),
  stop: z
    .union([z.string().min(1), listOf<string>({ min: 0, max: 4 }, textFault)], { error: "takes a string or up to 4" })
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1, { error: "this gateway computes one choice a call: leave n out or send 1" }).nullish(),
};
const chatSchema = z.object({
  ...shared,
  messages: listOf<ChatMessage>({ min: 1, max: Infinity }, messageFault),
  tools: z.array(z.unknown()).nullish(),
  max_completion_tokens: limit,
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).nullish(),
});
const textSchema = z.object({
  ...shared,
  prompt: z.custom<string | readonly number[] | readonly [string] | readonly [readonly number[]]>(isOnePrompt, {
    error: "send one prompt: a string, or an array of token ids",
  }),
  logprobs: z.int().min(0).nullish(),
  best_of: z.literal(1, { error: "best_of must be 1" }).nullish(),
  /** Ours: leading tokens, BOS included, that are the agent's shared prefix. */
  prefix_tokens: z.int().min(0).nullish(),
});

/** `POST /v1/chat/completions`. Unknown members are tolerated. Throws a GatewayError 400 naming the member. */
export function parseChatRequest(body: Record<string, unknown>, tenant: string): CallRequest {
  const parsed = chatSchema.safeParse(body);
  if (!parsed.success) throw toInvalidRequest(parsed.error);
  const { data } = parsed;
  // The client's own objects: nothing is reordered or dropped on the way to the template (K02).
  const { messages } = data;
  const tools = data.tools ?? [];
  return {
    kind: "chat",
    ...common(data),
    prompt: { kind: "chat", tenant, messages, ...(tools.length > 0 ? { tools } : {}) },
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? null,
    logprobs: data.logprobs === true,
  };
}

/** `POST /v1/completions`. Throws a GatewayError 400 naming the member. */
export function parseTextRequest(body: Record<string, unknown>, tenant: string): CallRequest {
  const parsed = textSchema.safeParse(body);
  if (!parsed.success) throw toInvalidRequest(parsed.error);
  const { data } = parsed;
  const first = typeof data.prompt === "string" ? data.prompt : data.prompt[0];
  const prompt = typeof first === "number" ? (data.prompt as number[]) : first;
  if (prompt === undefined) throw new GatewayError("invalid_request", { message: "prompt is empty", param: "prompt" });
  return {
    kind: "completion",
    ...common(data),
    prompt: { kind: "text", tenant, prompt, ...(data.prefix_tokens ? { prefixTokens: data.prefix_tokens } : {}) },
    maxTokens: data.max_tokens ?? null,
    logprobs: typeof data.logprobs === "number",
  };
}

function messageFault(message: unknown): ItemFault | null {
  if (typeof message !== "object" || message === null) return { message: "must be an object" };
  const { role } = message as { role?: unknown };
  return typeof role === "string" && role !== "" ? null : { member: "role", message: "must be a string that is not empty" };
}

/** A list of prompts is taken if it holds one. */
function isOnePrompt(prompt: unknown): boolean {
  if (typeof prompt === "string" || isTokenList(prompt)) return true;
  return Array.isArray(prompt) && prompt.length === 1 && (typeof prompt[0] === "string" || isTokenList(prompt[0]));
}

type Shared = { [member in keyof typeof shared]?: z.infer<(typeof shared)[member]> };

function common(data: Shared) {
  return {
    model: data.model ?? null,
    sampling: {
      temperature: data.temperature ?? 1,
      topP: data.top_p ?? 1,
      topK: Math.max(0, data.top_k ?? 0),
      minP: data.min_p ?? 0,
      seed: data.seed ?? null,
      ignoreEos: data.ignore_eos ?? false,
    },
    stop: typeof data.stop === "string" ? [data.stop] : (data.stop ?? []),
    stream: data.stream ?? false,
    includeUsage: data.stream_options?.include_usage ?? false,
  };
}
