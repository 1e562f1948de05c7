import type { CallEnd, EngineSink } from "@topas/engines";
import { fromGatewayError, fromReported, type Refusal } from "../error-reply.ts";
import { GatewayError } from "../errors.ts";
import { toClientHeaders } from "../wire/openai/forward.ts";
import { endRefusal, isFinish } from "./end-refusal.ts";
import type { LiveCall } from "./live-call.ts";

/** Of an upstream's error answer that can only be told as an event, this much is read, in bytes. */
const ERROR_BODY_BYTES = 64 * 1024;

/**
 * Raw engine: the upstream's bytes go to the client as they came. Per chunk: one write, one clock reading, no promise, no parsing.
 */
export function createRawSink(call: LiveCall): EngineSink {
  const { response } = call;
  let upstreamStatus = 0;
  let expected = -1;
  let sent = 0;
  let isStream = false;
  /** Set when the head went out with a ping and the upstream then answered something that is no event stream. */
  let errorBody: Uint8Array[] | null = null;
  let waitsForDrain = false;
  let last: Uint8Array | null = null;
  let beforeLast: Uint8Array | null = null;

  const onDrain = (): void => {
    waitsForDrain = false;
    call.resumeUpstream();
  };
  return {
    head(status, headers) {
      if (call.settled) return;
      upstreamStatus = status;
      isStream = String(headers["content-type"] ?? "").startsWith("text/event-stream");
      if (response.headersSent) {
        if (status !== 200 || !isStream) errorBody = [];
        return;
      }
      const length = headers["content-length"];
      if (typeof length === "string") expected = Number(length);
      // A ping is a line of an event stream and of nothing else.
      if (!isStream || expected >= 0 || headers["content-encoding"] !== undefined) call.stopPings();
      try {
        response.writeHead(status, toClientHeaders(headers, call.spec.headers));
      } catch (cause) {
        call.abort(
          new GatewayError("upstream_error", {
            message: "the upstream's answer has a status or header that cannot be passed on",
            cause,
          }),
        );
      }
    },
    raw(chunk) {
      if (call.settled) return true;
      if (call.firstByteSeconds === null) call.firstByte();
      else call.lastByteSeconds = call.now();
      if (errorBody !== null) {
        if (sent < ERROR_BODY_BYTES) errorBody.push(chunk);
        sent += chunk.byteLength;
        return true;
      }
      sent += chunk.byteLength;
      beforeLast = last;
      last = chunk;
      if (response.write(chunk)) return true;
      if (!waitsForDrain) {
        waitsForDrain = true;
        response.once("drain", onDrain);
      }
      return false;
    },
    end(end) {
      if (call.settled) return;
      if (errorBody !== null) return call.fail(toldAsEvent(upstreamStatus, errorBody));
      if (upstreamStatus === 0) return call.fail(endRefusal(end));
      const complete = expected < 0 || sent === expected;
      if (complete && (isFinish(end.reason) || (upstreamStatus >= 400 && end.reason !== "cancelled"))) {
        call.settle(upstreamStatus, upstreamStatus >= 400 ? "upstream_error" : null, end.usage);
        response.end();
      } else breakOff(call, end, isStream && endsEvent(beforeLast, last));
    },
  };
}

/** The upstream broke off after its first byte: an error event between two events, a cut connection anywhere else. */
function breakOff(call: LiveCall, end: CallEnd, betweenEvents: boolean): void {
  const refusal = endRefusal(end);
  if (betweenEvents && call.spec.stream) return call.fail(refusal);
  if (call.settle(refusal.status, refusal.code, end.usage)) call.response.destroy();
}

/** Does what was sent so far end with a blank line? */
function endsEvent(beforeLast: Uint8Array | null, last: Uint8Array | null): boolean {
  if (last === null) return true;
  const tail = Buffer.concat([(beforeLast ?? last).subarray(-3), last.subarray(-4)])
    .toString("latin1")
    .replace(/\r\n?/g, "\n");
  return tail.endsWith("\n\n");
}

function toldAsEvent(status: number, chunks: readonly Uint8Array[]): Refusal {
  const message = Buffer.concat(chunks).toString("utf8").slice(0, 2000);
  if (status < 400)
    return fromGatewayError(new GatewayError("upstream_error", { message: "the upstream did not answer with an event stream" }));
  return fromReported({ code: "upstream_error_response", message: `the upstream answered ${status}: ${message}`, status });
}
