import type { ServerResponse } from "node:http";
import { EngineError, type CallUsage, type EngineSink } from "@topas/engines";
import { fromGatewayError, toRefusal, writeRefusal, type Refusal } from "../error-reply.ts";
import { GatewayError } from "../errors.ts";
import type { Lease } from "../key-limits.ts";
import { PING } from "../wire/openai/response.ts";
import type { CallServices } from "./services.ts";

export interface LiveCallSpec {
  readonly id: string;
  readonly tenant: string;
  readonly route: string;
  readonly stream: boolean;
  readonly response: ServerResponse;
  /** Ours, for the head of the answer; more may be added until the head is sent. */
  readonly headers: Record<string, string>;
  /** The client's x-request-id; null: none, or not fit to be echoed. */
  readonly clientRequestId: string | null;
  /** Of its key's limits; null: none. */
  readonly lease: Lease | null;
}

/** The head of every event stream. `no-transform`, `x-accel-buffering`: intermediaries must not collect events. */
const SSE_HEAD = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Unsent bytes of a finished stream are dropped after this, in milliseconds: the reader is too slow or gone. */
const LAST_FLUSH_MS = 5000;

/**
 * One call between its socket and the scheduler. `settle` is its one terminal event; everything it holds is released there, before
 * the last byte is written (K43), and nothing it is told afterwards reaches the client (K38).
 */
export class LiveCall {
  readonly spec: LiveCallSpec;
  readonly response: ServerResponse;
  readonly arrivedSeconds: number;
  admittedSeconds: number | null = null;
  firstByteSeconds: number | null = null;
  lastByteSeconds = 0;
  settled = false;
  private readonly services: CallServices;
  private enqueued = false;
  private pings: NodeJS.Timeout | null = null;

  constructor(services: CallServices, spec: LiveCallSpec) {
    this.services = services;
    this.spec = spec;
    this.response = spec.response;
    this.arrivedSeconds = services.clock.nowSeconds();
    services.live.add(this);
    this.response.on("close", () => this.leave());
    this.response.on("error", () => this.leave());
    if (spec.stream) this.pings = setInterval(() => this.ping(), services.limits.pingSeconds * 1000).unref();
  }

  /** Hands the call over. A refusal of the scheduler becomes the answer. */
  enqueue(call: Omit<Parameters<CallServices["scheduler"]["enqueue"]>[0], "id" | "sink" | "onAdmitted">, sink: EngineSink): void {
    if (this.settled) return;
    this.enqueued = true;
    try {
      this.services.scheduler.enqueue({
        ...call,
        id: this.spec.id,
        sink,
        onAdmitted: () => {
          this.admittedSeconds = this.services.clock.nowSeconds();
        },
      });
    } catch (error) {
      this.enqueued = false;
      this.refuse(error);
    }
  }

  now(): number {
    return this.services.clock.nowSeconds();
  }

  /** Bytes of the answer are about to be written. */
  firstByte(): void {
    this.firstByteSeconds = this.now();
    this.lastByteSeconds = this.firstByteSeconds;
    this.stopPings();
  }

  stopPings(): void {
    if (this.pings === null) return;
    clearInterval(this.pings);
    this.pings = null;
  }

  /** Sends the head of an event stream unless a ping has done so. */
  openStream(): void {
    if (!this.response.headersSent) this.response.writeHead(200, { ...SSE_HEAD, ...this.spec.headers });
  }

  /** Ends the call with an answer of its own or, after the first byte, with one error event. */
  refuse(error: unknown): void {
    if (!GatewayError.isInstance(error) && !EngineError.isInstance(error)) this.services.failed(error, this);
    this.fail(toRefusal(error));
  }

  fail(refusal: Refusal): void {
    if (!this.settle(refusal.status, refusal.code)) return;
    if (!this.response.headersSent) writeRefusal(this.response, refusal, this.spec.headers);
    else if (this.spec.stream) this.response.end(`data: ${JSON.stringify(refusal.body)}\n\n`);
    else this.response.destroy();
  }

  /** Ends the call from our side while the engine still works on it. */
  abort(error: GatewayError): void {
    if (this.settled) return;
    this.fail(fromGatewayError(error));
    // Sinks abort from inside the engine's own step: it is told when it has come back from it.
    queueMicrotask(() => this.withdraw());
    setTimeout(() => this.response.destroy(), LAST_FLUSH_MS).unref();
  }

  /** The terminal event. False: it has happened already. */
  settle(status: number, code: string | null, usage: CallUsage | null = null): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.stopPings();
    this.services.live.remove(this);
    if (code !== null && this.admittedSeconds === null) this.spec.lease?.giveBack();
    else this.spec.lease?.release(this.now(), (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0));
    this.services.settled(this, status, code, usage);
    return true;
  }

  resumeUpstream(): void {
    if (!this.settled) this.services.scheduler.resume(this.spec.id);
  }

  /** The socket closed. Before the terminal event: the client is gone, queued or running, stream or not (K32, K33). */
  private leave(): void {
    if (this.settle(499, null)) this.withdraw();
  }

  private withdraw(): void {
    if (!this.enqueued) return;
    this.enqueued = false;
    this.services.scheduler.cancel(this.spec.id);
  }

  private ping(): void {
    this.openStream();
    this.response.write(PING);
  }
}
