/** The embedded engine, parent side: libllama in a forked process behind the {@link Engine} interface. */
import type {
  CallEnd,
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
import { EngineError } from "../engine.ts";
import { LiveCalls, tell, unknownUsage } from "./calls.ts";
import { describeLlama, modelId } from "./describe.ts";
import { eventOf } from "./events.ts";
import { KnownPrefixes } from "./known-prefixes.ts";
import type { LlamaEngineOptions, ResolvedOptions } from "./options.ts";
import { resolveOptions } from "./options.ts";
import type { PromptPreparer } from "./prompt.ts";
import { createPromptPreparer } from "./prompt.ts";
import type { Command, Inspection, ReadyMessage } from "./protocol.ts";
import type { Report } from "./supervisor.ts";
import { Supervisor } from "./supervisor.ts";

export class LlamaEngine implements Engine {
  readonly options: ResolvedOptions;
  readonly #calls = new LiveCalls();
  readonly #prefixes = new KnownPrefixes();
  readonly #listeners = new Set<(event: EngineEvent) => void>();
  readonly #process: Supervisor;
  #started: Promise<EngineDescription> | null = null;
  #closed: Promise<void> | null = null;
  #description: EngineDescription | null = null;
  #preparer: PromptPreparer | null = null;

  constructor(options: LlamaEngineOptions) {
    this.options = resolveOptions(options);
    this.#process = new Supervisor(this.options, {
      opened: (ready, restarted) => this.#opened(ready, restarted),
      received: (report) => this.#received(report),
      lost: (message) => {
        if (this.#closed === null) this.#emit({ kind: "lost", message });
        this.#calls.endAll("failed", { code: "engine_lost", message, status: 503 });
      },
    });
  }

  /** Process id of the engine process; undefined while it is down. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /**
   * @throws EngineError `llama_package_missing`, `llama_abi_mismatch`, `model_not_found`, `model_not_gguf`, `model_load_failed`,
   * `model_unsupported`, `context_failed`, `engine_open_failed`, `engine_closed`.
   */
  start(): Promise<EngineDescription> {
    if (this.#closed !== null) return Promise.reject(new EngineError("engine_closed", "the engine is closed", 503));
    this.#started ??= this.#process.start().then(() => this.describe());
    return this.#started;
  }

  describe(): EngineDescription {
    if (this.#description === null) throw notStarted();
    return this.#description;
  }

  async prepare(prompt: PromptInput): Promise<PreparedPrompt> {
    if (this.#preparer === null) throw notStarted();
    const prepared = await this.#preparer.prepare(prompt);
    this.#prefixes.learn(prepared);
    return prepared;
  }

  submit(call: EngineCall, sink: EngineSink): void {
    const refusal = this.#refusal(call);
    const { prefix, tokens } = call.prompt;
    if (refusal !== null || tokens === null) {
      // Later, so that a sink never hears of its end before `submit` has returned.
      const end = refusal ?? refuse("empty_prompt", "the prompt has no tokens", 400);
      queueMicrotask(() => tell(sink, { ...end, usage: unknownUsage(call.prompt.promptTokens) }));
      return;
    }
    this.#prefixes.learn(call.prompt);
    this.#process.send({
      op: "submit",
      call: this.#calls.add(call, sink),
      prefix: prefix === null || prefix.tokens < 1 ? null : { entry: `prefix:${prefix.id}`, tokens: prefix.tokens },
      session: call.session === null ? null : `session:${call.session}`,
      tokens,
      maxTokens: call.maxTokens,
      sampling: call.sampling,
      stop: call.stop,
    });
  }

  cancel(id: string): void {
    const handle = this.#calls.handle(id);
    if (handle !== undefined) this.#process.send({ op: "cancel", call: handle });
  }

  resume(): void {}

  /** A `load` is answered when the entry is resident or cannot be: do not wait for it before submitting. */
  apply(commands: readonly EngineCommand[]): Promise<readonly CommandOutcome[]> {
    return Promise.all(commands.map((command) => this.#command(command)));
  }

  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  /** Books of the engine process, between two steps. For tests, benches and diagnosis. @throws EngineError `engine_lost`. */
  async inspect(): Promise<Inspection> {
    const reply = await this.#process.ask((seq) => ({ op: "inspect", seq }));
    if (reply?.ev !== "inspected") throw lostError();
    return reply.state;
  }

  #refusal(call: EngineCall): Pick<CallEnd, "reason" | "error"> | null {
    if (!this.#process.up) {
      return { reason: "failed", error: { code: "engine_lost", message: "the engine is down", status: 503, retryable: true } };
    }
    if (this.#calls.has(call.id)) return refuse("duplicate_request_id", `${call.id} is in flight`, 409);
    return call.prompt.tokens?.length === 0 ? refuse("empty_prompt", "the prompt has no tokens", 400) : null;
  }

  async #command(c: EngineCommand): Promise<CommandOutcome> {
    const message = this.#lower(c);
    const reply = message === null ? null : await this.#process.ask((seq) => ({ ...message, seq }));
    if (reply?.ev !== "ack") return { outcome: "unknownId", tokens: 0, bytes: 0, ms: 0 };
    const { outcome, tokens, bytes, ms } = reply;
    return { outcome, tokens, bytes, ms };
  }

  /** null: it names a call that is not live. */
  #lower(c: EngineCommand): Command | null {
    switch (c.op) {
      case "preempt": {
        const call = this.#calls.handle(c.id);
        return call === undefined ? null : { op: "preempt", call, keep: c.keep };
      }
      case "resume": {
        const call = this.#calls.handle(c.id);
        return call === undefined ? null : { op: "resume", call };
      }
      case "load":
        return { op: "load", entry: c.entry, tokens: this.#prefixes.tokens(c.entry) };
      case "evict":
      case "dropHost":
      case "rank":
        return c;
    }
  }

  async #tokenize(text: string, special: boolean, bos: boolean): Promise<Int32Array> {
    const reply = await this.#process.ask((seq) => ({ op: "tokenize", seq, text, special, bos }));
    if (reply?.ev !== "tokenized") throw lostError();
    return reply.tokens;
  }

  #opened(ready: ReadyMessage, restarted: boolean): void {
    const description = describeLlama(ready, this.options);
    this.#description = description;
    this.#preparer ??= createPromptPreparer({
      template: ready.template,
      bosToken: ready.bosPiece,
      eosToken: ready.eosPiece,
      modelId: modelId(ready, this.options),
      tokenize: (text, o) => this.#tokenize(text, o.special, o.bos && ready.addsBos),
    });
    if (restarted) this.#emit({ kind: "ready", description });
  }

  #received(m: Report): void {
    if (m.ev === "end") return this.#calls.end(m.call, m.reason, m.usage, m.error);
    if (m.ev === "step") for (const call of this.#calls.deliver(m)) this.#process.send({ op: "cancel", call });
    if (this.#listeners.size === 0) return;
    const event = eventOf(m, (handle) => this.#calls.id(handle));
    if (event !== null) this.#emit(event);
  }

  #emit(event: EngineEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  async #shutDown(): Promise<void> {
    this.#calls.endAll("cancelled", null);
    await this.#process.close();
    this.#listeners.clear();
  }
}

function refuse(code: string, message: string, status: number): Pick<CallEnd, "reason" | "error"> {
  return { reason: "refused", error: { code, message, status, retryable: false } };
}

function notStarted(): EngineError {
  return new EngineError("engine_not_started", "the engine has not started yet", 503);
}

function lostError(): EngineError {
  return new EngineError("engine_lost", "the engine went down before it answered", 503);
}
