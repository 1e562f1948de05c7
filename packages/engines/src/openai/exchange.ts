/** One forwarded request: bytes pass as received, backpressure reaches the socket, the end is told once. */
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { NO_USAGE, type CallEnd, type EngineSink } from "../engine.ts";
import { responseHeaders } from "./headers.ts";
import { findReason, findUsage, Tail } from "./usage.ts";

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #sink: EngineSink;
  readonly #closed: (end: CallEnd) => void;
  readonly #tail = new Tail();
  #controller: Dispatcher.DispatchController | null = null;
  #ended = false;
  #status = 0;
  #encoded = false;

  /** `closed` is called before the sink hears the end. */
  constructor(sink: EngineSink, closed: (end: CallEnd) => void) {
    this.#sink = sink;
    this.#closed = closed;
  }

  /** Ends the call now; the upstream request is aborted, or never sent if it still waits for a connection. */
  cancel(): void {
    this.#end({ reason: "cancelled", usage: this.#usage() });
    this.#controller?.abort(new Error("cancelled"));
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(new Error("cancelled"));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#ended) return;
    this.#controller = controller;
    this.#status = status;
    this.#encoded = (headers["content-encoding"] ?? "identity") !== "identity";
    this.#sink.head?.(status, responseHeaders(headers));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#tail.push(chunk);
    if (this.#sink.raw?.(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    const usage = this.#usage();
    if (this.#status < 400) this.#end({ reason: this.#encoded ? "stop" : findReason(this.#tail.text()), usage });
    else {
      const error = {
        code: "upstream_status",
        message: `the upstream answered ${this.#status}`,
        status: this.#status,
        retryable: false,
      };
      this.#end({ reason: "failed", usage, error });
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ reason: "failed", usage: this.#usage(), error: this.#classify(error) });
  }

  #classify(error: Error): NonNullable<CallEnd["error"]> {
    const code = (error as { code?: unknown }).code;
    switch (code) {
      case "UND_ERR_HEADERS_TIMEOUT":
      case "UND_ERR_BODY_TIMEOUT":
        // The upstream may still be at work: another try would double it.
        return { code: "upstream_timeout", message: "the upstream did not answer in time", status: 504, retryable: false };
      case "UND_ERR_INVALID_ARG":
        return { code: "invalid_request", message: error.message, status: 400, retryable: false };
      default: {
        const message = `the upstream is unavailable (${typeof code === "string" ? code : error.name})`;
        return { code: "upstream_unavailable", message, status: 503, retryable: this.#status === 0 };
      }
    }
  }

  #usage(): CallEnd["usage"] {
    return this.#encoded || this.#status === 0 ? NO_USAGE : findUsage(this.#tail.text());
  }

  #end(end: CallEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#closed(end);
    this.#sink.end(end);
  }
}
