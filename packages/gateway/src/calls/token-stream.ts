import { StringDecoder } from "node:string_decoder";
import type { EngineSink } from "@topas/engines";
import { GatewayError } from "../errors.ts";
import { createEventWriter, DONE_EVENT, type AnswerHead } from "../wire/openai/response.ts";
import { toOpenAiUsage } from "../wire/openai/usage.ts";
import { endRefusal, isFinish } from "./end-refusal.ts";
import type { LiveCall } from "./live-call.ts";

export interface TokenStreamOptions {
  readonly includeUsage: boolean;
  readonly promptTokens: number;
  /** Unread bytes at which the reader is too slow: an engine of tokens cannot be paused, so the call is cut (K42). */
  readonly bufferBytes: number;
}

/** Token engine, event stream. A character whose bytes arrive in several tokens goes out with the last of them (K64). */
export function createTokenStreamSink(call: LiveCall, head: AnswerHead, options: TokenStreamOptions): EngineSink {
  const { response } = call;
  const writer = createEventWriter(head, options.includeUsage);
  const decoder = new StringDecoder("utf8");
  let tokens = 0;

  const open = (): void => {
    call.firstByte();
    call.openStream();
    if (writer.opening !== "") response.write(writer.opening);
  };
  return {
    token(_token, piece) {
      if (call.settled) return;
      if (tokens++ === 0) open();
      else call.lastByteSeconds = call.now();
      const text = decoder.write(piece);
      if (text === "" || response.write(writer.text(text))) return;
      if (response.writableLength > options.bufferBytes) call.abort(new GatewayError("slow_reader"));
    },
    end(end) {
      if (call.settled) return;
      if (!isFinish(end.reason)) return call.fail(endRefusal(end));
      if (tokens === 0) open();
      const rest = decoder.end();
      const usage = toOpenAiUsage(end.usage, { promptTokens: options.promptTokens, completionTokens: tokens });
      call.settle(200, null, { ...end.usage, completionTokens: usage.completion_tokens });
      const last = (rest === "" ? "" : writer.text(rest)) + writer.finish(end.reason);
      response.end(last + (options.includeUsage ? writer.usage(usage) : "") + DONE_EVENT);
    },
  };
}
