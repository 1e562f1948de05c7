import type { OpenAiUsage } from "./usage.ts";

/** What every object of one answer has in common. */
export interface AnswerHead {
  readonly kind: "chat" | "completion";
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

export type FinishReason = "stop" | "length";

/** The whole answer of a call without `stream`. */
export function toAnswer(head: AnswerHead, text: string, finish: FinishReason, usage: OpenAiUsage): object {
  const { id, created, model } = head;
  if (head.kind === "completion") {
    return {
      id,
      object: "text_completion",
      created,
      model,
      choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
      usage,
    };
  }
  const message = { role: "assistant", content: text, refusal: null };
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}

/** Builders of one stream's events, each a complete `data:` line and its blank line. */
export interface EventWriter {
  /** The role event that opens a chat stream; empty for completions. */
  readonly opening: string;
  text(text: string): string;
  finish(reason: FinishReason): string;
  /** OpenAI's extra event without choices, on request only. */
  usage(usage: OpenAiUsage): string;
}

export const DONE_EVENT = "data: [DONE]\n\n";
export const PING = ": ping\n\n";

/** Everything but the text itself is serialised once a call: an event costs one JSON.stringify of its own few characters. */
export function createEventWriter(head: AnswerHead, includeUsage: boolean): EventWriter {
  const chat = head.kind === "chat";
  const object = chat ? "chat.completion.chunk" : "text_completion";
  const base = `data: {"id":${JSON.stringify(head.id)},"object":"${object}","created":${head.created},"model":${JSON.stringify(head.model)},`;
  const close = includeUsage ? `],"usage":null}\n\n` : `]}\n\n`;
  const choice = `${base}"choices":[{"index":0,${chat ? `"delta":` : `"text":`}`;
  const goesOn = `,"logprobs":null,"finish_reason":null}${close}`;
  const before = chat ? `${choice}{"content":` : choice;
  const after = chat ? `}${goesOn}` : goesOn;
  return {
    opening: chat ? `${choice}{"role":"assistant","content":""}${goesOn}` : "",
    text: (text) => before + JSON.stringify(text) + after,
    finish: (reason) => `${choice}${chat ? "{}" : `""`},"logprobs":null,"finish_reason":"${reason}"}${close}`,
    usage: (usage) => `${base}"choices":[],"usage":${JSON.stringify(usage)}}\n\n`,
  };
}
