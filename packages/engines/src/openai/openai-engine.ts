/**
 * Any OpenAI-compatible upstream, forwarded byte for byte. It can be held back, ordered and cancelled, nothing more: residency
 * commands answer "unsupported", and what is cached is known only if the upstream says so in its usage.
 */
import { Pool } from "undici";
import type {
  CommandOutcome,
  Engine,
  EngineCall,
  EngineCommand,
  EngineDescription,
  EngineEvent,
  EngineSink,
  PreparedPrompt,
  PromptInput,
} from "../engine.ts";
import { EngineError, NO_USAGE } from "../engine.ts";
import { estimatePrompt } from "./estimate.ts";
import { Exchange } from "./exchange.ts";
import { requestHeaders } from "./headers.ts";

export interface OpenAiOptions {
  /** With or without a trailing `/v1`. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer` when the client's own is not forwarded. */
  readonly apiKey?: string;
  /** Pass the client's credentials on instead of keeping them here. */
  readonly forwardAuthorization?: boolean;
  /** Shown, and part of prefix ids when a prompt names no model; absent: the upstream's first model. */
  readonly model?: string;
  /** From configuration; absent: unknown, the scheduler then counts requests only. */
  readonly kvBudgetTokens?: number;
  readonly blockTokens?: number;
  readonly maxRunning?: number;
  readonly contextTokens?: number;
  /** Reference speeds for estimates. */
  readonly prefillSecondsPerToken?: number;
  readonly decodeSecondsPerToken?: number;
  /** Until the status line (ms); also the longest silence inside a response. */
  readonly firstByteMs?: number;
  readonly connectMs?: number;
  readonly probeMs?: number;
}

export class OpenAiEngine implements Engine {
  readonly #options: OpenAiOptions;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #calls = new Map<string, Exchange>();
  #model: string;
  #reached = "not probed";
  #saysCached = false;
  readonly #listeners = new Set<(event: EngineEvent) => void>();
  #closing: Promise<void> | null = null;

  /** @throws EngineError `invalid_base_url` when it is no http(s) URL. */
  constructor(options: OpenAiOptions) {
    const url = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : null;
    if (url === null || !/^https?:$/u.test(url.protocol)) {
      throw new EngineError("invalid_base_url", `not an http(s) URL: ${options.baseUrl}`, 400);
    }
    this.#options = options;
    this.#model = options.model ?? "unknown";
    this.#basePath = url.pathname.replace(/\/+$/u, "");
    const silence = options.firstByteMs ?? 600_000;
    this.#pool = new Pool(url.origin, {
      connections: null,
      pipelining: 1,
      headersTimeout: silence,
      bodyTimeout: silence,
      connect: { timeout: options.connectMs ?? 10_000 },
    });
  }

  /** Asks for the model list, for at most `probeMs` (1 s). An upstream that is down is found out by calls. */
  async start(): Promise<EngineDescription> {
    if (this.#closing !== null) throw new EngineError("engine_closed", "the engine is closed", 503);
    try {
      const { statusCode, body } = await this.#pool.request({
        method: "GET",
        path: this.#path("/v1/models"),
        headers: requestHeaders({}, this.#credentials()),
        signal: AbortSignal.timeout(this.#options.probeMs ?? 1_000),
      });
      this.#reached = `GET /v1/models answered ${statusCode}`;
      const list: unknown = await body.json().catch(() => null);
      const first = (list as { data?: { id?: unknown }[] } | null)?.data?.[0]?.id;
      if (this.#options.model === undefined && typeof first === "string") this.#model = first;
    } catch (error) {
      this.#reached = `GET /v1/models failed: ${error instanceof Error ? error.message : String(error)}`;
    }
    return this.describe();
  }

  describe(): EngineDescription {
    const { kvBudgetTokens, blockTokens, maxRunning, contextTokens, prefillSecondsPerToken, decodeSecondsPerToken } =
      this.#options;
    return {
      engine: "openai",
      version: null,
      model: this.#model,
      wire: "raw",
      kvBudgetTokens: kvBudgetTokens ?? null,
      blockTokens: blockTokens ?? 1,
      maxRunning: maxRunning ?? null,
      contextTokens: contextTokens ?? null,
      kvBytesPerToken: null,
      prefillSecondsPerToken: prefillSecondsPerToken ?? 0.000_1,
      decodeSecondsPerToken: decodeSecondsPerToken ?? 0.02,
      copyBytesPerSecond: 0,
      hostTier: false,
      keep: "unsupported",
      load: "unsupported",
      evict: "unsupported",
      preempt: "unsupported",
      redo: "unknown",
      residencySource: this.#saysCached ? "cached-tokens" : "none",
      notes: [this.#reached, "speeds are configured or assumed, not measured", "prompt sizes are estimated at 4 bytes a token"],
    };
  }

  prepare(input: PromptInput): Promise<PreparedPrompt> {
    return Promise.resolve(estimatePrompt(input, this.#model));
  }

  submit(call: EngineCall, sink: EngineSink): void {
    const problem = this.#problem(call);
    if (problem !== null || call.http === null) {
      queueMicrotask(() => sink.end({ reason: "refused", usage: NO_USAGE, ...(problem === null ? {} : { error: problem }) }));
      return;
    }
    const exchange = new Exchange(sink, ({ usage }) => {
      this.#calls.delete(call.id);
      if (usage.cachedTokens !== null) this.#cachedSeen();
    });
    this.#calls.set(call.id, exchange);
    const { body, headers, path } = call.http;
    this.#pool.dispatch(
      {
        method: "POST",
        path: this.#path(path),
        headers: requestHeaders(headers, this.#credentials()),
        body: Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      },
      exchange,
    );
  }

  #problem(call: EngineCall): { code: string; message: string; status: number; retryable: boolean } | null {
    if (this.#closing !== null) return { code: "engine_closed", message: "the engine is closed", status: 503, retryable: true };
    if (call.http === null || !call.http.path.startsWith("/")) {
      return { code: "invalid_request", message: "a raw engine needs an HTTP request", status: 400, retryable: false };
    }
    if (!this.#calls.has(call.id)) return null;
    return { code: "duplicate_request_id", message: `${call.id} is in flight`, status: 409, retryable: false };
  }

  #credentials(): { apiKey: string | null; forwardAuthorization: boolean } {
    return { apiKey: this.#options.apiKey ?? null, forwardAuthorization: this.#options.forwardAuthorization ?? false };
  }

  #path(path: string): string {
    const doubled = this.#basePath.endsWith("/v1") && (path === "/v1" || path.startsWith("/v1/"));
    return this.#basePath + (doubled ? path.slice("/v1".length) : path);
  }

  cancel(id: string): void {
    this.#calls.get(id)?.cancel();
  }

  resume(id: string): void {
    this.#calls.get(id)?.resume();
  }

  apply(commands: readonly EngineCommand[]): Promise<readonly CommandOutcome[]> {
    return Promise.resolve(commands.map(() => ({ outcome: "unsupported" as const, tokens: 0, bytes: 0, ms: 0 })));
  }

  /** Nothing inside the upstream can be seen; the one event is `ready` when it turns out to report cached tokens. */
  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #cachedSeen(): void {
    if (this.#saysCached) return;
    this.#saysCached = true;
    for (const listener of this.#listeners) listener({ kind: "ready", description: this.describe() });
  }

  close(): Promise<void> {
    if (this.#closing === null) {
      this.#closing = Promise.resolve().then(() => this.#pool.destroy());
      for (const exchange of this.#calls.values()) exchange.cancel();
    }
    return this.#closing;
  }
}
