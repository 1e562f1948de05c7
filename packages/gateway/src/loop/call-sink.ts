import type { CallEnd, EngineSink } from "@topas/engines";
import type { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";
import { settle } from "./endings.ts";
import type { CallRecord } from "./records.ts";
import { takeRetry } from "./retry.ts";

/** The sink given to the engine: books first, then the client's own sink. `again` sends the call once more. */
export function callSink(loop: Loop, record: CallRecord, again: () => void): EngineSink {
  const { sink, id, identity, prompt } = record.call;
  const generated: number[] | null = identity.session !== null && prompt.tokens !== null ? [] : null;
  let answered = false;
  const first = (): void => {
    const now = loop.now();
    record.firstTokenSeconds = now;
    loop.lastMovedSeconds = now;
    loop.apply({ kind: "firstToken", at: now, request: id });
  };
  return {
    head(status, headers) {
      answered = true;
      sink.head?.(status, headers);
    },
    raw(chunk) {
      if (record.firstTokenSeconds === null) first();
      return sink.raw?.(chunk) ?? true;
    },
    token(token, piece) {
      if (record.firstTokenSeconds === null) first();
      record.generatedTokens++;
      generated?.push(token);
      sink.token?.(token, piece);
    },
    end(told) {
      if (!answered && takeRetry(loop, record, told)) return again();
      const end = record.failure === null ? told : failed(told, record.failure);
      count(loop, record, end);
      const finished = end.reason === "stop" || end.reason === "length";
      if (generated !== null && identity.session !== null && end.usage.retainedTokens > 0 && prompt.tokens !== null) {
        const tokens = new Int32Array(prompt.tokens.length + generated.length);
        tokens.set(prompt.tokens);
        tokens.set(generated, prompt.tokens.length);
        loop.sessions.remember(identity.session, tokens);
      }
      settle(loop, record, finished ? "finished" : end.reason === "cancelled" ? "cancelled" : "failed", end);
      sink.end(end);
    },
  };
}

function count(loop: Loop, record: CallRecord, end: CallEnd): void {
  const { usage } = end;
  const c = loop.counters_;
  record.cachedTokens = usage.cachedTokens;
  c.completion_tokens_total += usage.completionTokens ?? 0;
  c.computed_tokens_total += usage.computedTokens ?? 0;
  c.redone_tokens_total += usage.redoneTokens ?? 0;
  if (usage.cachedTokens === null) c.unknown_cached_total++;
  else {
    c.prompt_tokens_total += usage.promptTokens ?? 0;
    c.own_prompt_tokens_total += record.call.prompt.promptTokens - (record.call.prompt.prefix?.tokens ?? 0);
    c.cached_tokens_total += usage.cachedTokens;
  }
}

function failed(end: CallEnd, error: GatewayError): CallEnd {
  return { ...end, reason: "failed", error: { code: error.code, message: error.message, status: error.status, retryable: true } };
}
