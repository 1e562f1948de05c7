import type { EngineSink } from "@topas/engines";
import { toAnswer, type AnswerHead } from "../wire/openai/response.ts";
import { toOpenAiUsage } from "../wire/openai/usage.ts";
import { endRefusal, isFinish } from "./end-refusal.ts";
import type { LiveCall } from "./live-call.ts";

/** Token engine, one JSON answer: bytes are joined before they are read, so no character is ever cut (K64). */
export function createTokenJsonSink(call: LiveCall, head: AnswerHead, promptTokens: number): EngineSink {
  const pieces: Uint8Array[] = [];
  let tokens = 0;
  return {
    token(_token, piece) {
      if (call.settled) return;
      if (tokens++ === 0) call.firstByte();
      call.lastByteSeconds = call.now();
      if (piece.byteLength > 0) pieces.push(Uint8Array.from(piece));
    },
    end(end) {
      if (call.settled) return;
      if (!isFinish(end.reason)) return call.fail(endRefusal(end));
      const usage = toOpenAiUsage(end.usage, { promptTokens, completionTokens: tokens });
      const body = JSON.stringify(toAnswer(head, Buffer.concat(pieces).toString("utf8"), end.reason, usage));
      call.settle(200, null, { ...end.usage, completionTokens: usage.completion_tokens });
      const headers = { "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(body) };
      call.response.writeHead(200, { ...call.spec.headers, ...headers }).end(body);
    },
  };
}
