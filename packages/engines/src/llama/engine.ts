/** The embedded engine, parent side: libllama in a forked child, restarted when it dies, behind the {@link Engine} interface. */
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
import { EngineError } from "../engine.ts";
import { LiveCalls, tell, unknownUsage } from "./calls.ts";
import type { ChildLink } from "./child-link.ts";
import { forkChild } from "./child-link.ts";
import { describeLlama, modelId } from "./describe.ts";
import { eventOf } from "./events.ts";
import { KnownPrefixes } from "./known-prefixes.ts";
import type { LlamaEngineOptions, ResolvedOptions } from "./options.ts";
import { openOptions, resolveOptions } from "./options.ts";
import type { PromptPreparer } from "./prompt.ts";
import { createPromptPreparer } from "./prompt.ts";
import type { Command, Envelope, FromChild, Inspection, ReadyMessage, ToChild } from "./protocol.ts";
import { Watchdog } from "./watchdog.ts";

type Reply = Extract<FromChild, { ev: "ack" | "tokenized" | "inspected" }>;
interface Pending {
  resolve(reply: Reply): void;
  lost(): void;
}

export class LlamaEngine implements Engine {
  readonly options: ResolvedOptions;
  readonly #calls = new LiveCalls();
  readonly #prefixes = new KnownPrefixes();
  readonly #listeners = new Set<(event: EngineEvent) => void>();
  readonly #pending = new Map<number, Pending>();
  #seq = 1;
  #link: ChildLink | null = null;
  #up = false;
  #closed: Promise<void> | null = null;
  #started: Promise<EngineDescription> | null = null;
  #description: EngineDescription | null = null;
  #preparer: PromptPreparer | null = null;
  #watchdog: Watchdog | null = null;
  #restartTimer: NodeJS.Timeout | null = null;
  #failedStarts = 0;
  #fatal: string | null = null;
  #onGone: (() => void) | null = null;

  constructor(options: LlamaEngineOptions) {
    this.options = resolveOptions(options);
  }

  /** Process id of the engine process; undefined while it is down. */
  get pid(): number | undefined {
    return this.#link?.pid;
  }

  start(): Promise<EngineDescription> {
    if (this.#closed !== null) return Promise.reject(closedError());
    this.#started ??= this.#open();
    return this.#started;
  }

  describe(): EngineDescription {
    if (this.#description === null) throw new EngineError("engine_not_started", "the engine has not started yet", 503);
    return this.#description;
  }

  async prepare(prompt: PromptInput): Promise<PreparedPrompt> {
    if (this.#preparer === null) throw new EngineError("engine_not_started", "the engine has not started yet", 503);
    const prepared = await this.#preparer.prepare(prompt);
    this.#prefixes.learn(prepared);
    return prepared;
  }

  submit(call: EngineCall, sink: EngineSink): void {
    const refusal = this.#refusal(call);
    if (refusal !== null) {
      // Later, so that a sink never hears of its end before `submit` has returned.
      queueMicrotask(() => tell(sink, { ...refusal, usage: unknownUsage(call.prompt.promptTokens) }));
      return;
    }
    this.#prefixes.learn(call.prompt);
    const { prefix, tokens } = call.prompt;
    this.#send({
      op: "submit",
      call: this.#calls.add(call, sink),
      prefix: prefix === null || prefix.tokens < 1 ? null : { entry: `prefix:${prefix.id}`, tokens: prefix.tokens },
      session: call.session === null ? null : `session:${call.session}`,
      tokens: tokens ?? new Int32Array(0),
      maxTokens: call.maxTokens,
      sampling: call.sampling,
      stop: call.stop,
    });
  }

  cancel(id: string): void {
    const handle = this.#calls.handle(id);
    if (handle !== undefined) this.#send({ op: "cancel", call: handle });
  }

  resume(): void {}

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
    const reply = await this.#ask((seq) => ({ op: "inspect", seq }));
    if (reply?.ev !== "inspected") throw lostError();
    return reply.state;
  }

  #refusal(
    call: EngineCall,
  ): { reason: "failed" | "refused"; error: NonNullable<Parameters<EngineSink["end"]>[0]["error"]> } | null {
    if (!this.#up) {
      const message = this.#fatal ?? "the engine is down";
      return { reason: "failed", error: { code: "engine_lost", message, status: 503, retryable: true } };
    }
    const refuse = (code: string, message: string, status: number) =>
      ({ reason: "refused", error: { code, message, status, retryable: false } }) as const;
    if (this.#calls.has(call.id)) return refuse("duplicate_request_id", `${call.id} is in flight`, 409);
    if (call.prompt.tokens === null || call.prompt.tokens.length === 0)
      return refuse("empty_prompt", "the prompt has no tokens", 400);
    return null;
  }

  async #command(c: EngineCommand): Promise<CommandOutcome> {
    const message = this.#lower(c);
    const reply = message === null ? null : await this.#ask((seq) => ({ ...message, seq }));
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

  /** null: the engine went down before it answered. */
  #ask(make: (seq: number) => ToChild): Promise<Reply | null> {
    if (!this.#up) return Promise.resolve(null);
    const seq = this.#seq++;
    return new Promise((resolve) => {
      this.#pending.set(seq, { resolve, lost: () => resolve(null) });
      this.#send(make(seq));
    });
  }

  async #tokenize(text: string, special: boolean, bos: boolean): Promise<Int32Array> {
    const reply = await this.#ask((seq) => ({ op: "tokenize", seq, text, special, bos }));
    if (reply?.ev !== "tokenized") throw lostError();
    return reply.tokens;
  }

  #send(message: ToChild): void {
    this.#link?.send(message);
  }

  /** Forks and opens the model. Rejects with what the child refused; a death before `ready` is `engine_open_failed`. */
  #open(): Promise<EngineDescription> {
    return new Promise((resolve, reject) => {
      let settled = false;
      const fail = (error: EngineError): void => {
        settled = true;
        reject(error);
      };
      const link = forkChild(
        (envelope) => {
          this.#watchdog?.alive();
          for (const message of envelope) {
            if (message.ev === "ready" && !settled) {
              settled = true;
              resolve(this.#ready(message));
            } else if (message.ev === "openFailed") {
              fail(new EngineError(message.code, message.message));
              link.kill("SIGKILL");
            }
          }
          if (this.#up && this.#link === link) this.#receive(envelope);
        },
        (why) => {
          if (!settled) fail(new EngineError("engine_open_failed", why));
          if (this.#link === link) this.#lost(why);
        },
      );
      this.#link = link;
      this.#fatal = null;
      link.send({ op: "open", options: openOptions(this.options) });
    });
  }

  #ready(ready: ReadyMessage): EngineDescription {
    const description = describeLlama(ready, this.options);
    this.#description = description;
    this.#preparer ??= createPromptPreparer({
      template: ready.template,
      bosToken: ready.bosPiece,
      eosToken: ready.eosPiece,
      modelId: modelId(ready, this.options),
      tokenize: (text, o) => this.#tokenize(text, o.special, o.bos && ready.addsBos),
    });
    this.#up = true;
    this.#failedStarts = 0;
    this.#watchdog = new Watchdog(this.options.hangMs, this.options.stepHangMs, {
      ping: () => this.#send({ op: "ping", seq: 0 }),
      hung: (why) => {
        this.#fatal = why;
        this.#link?.kill("SIGKILL");
      },
    });
    return description;
  }

  #receive(envelope: Envelope): void {
    for (const m of envelope) {
      switch (m.ev) {
        case "ack":
        case "tokenized":
        case "inspected": {
          const pending = this.#pending.get(m.seq);
          this.#pending.delete(m.seq);
          pending?.resolve(m);
          break;
        }
        case "pong":
          this.#watchdog?.pong(m.stepMs);
          break;
        case "step":
          for (const call of this.#calls.deliver(m)) this.#send({ op: "cancel", call });
          this.#emit(m);
          break;
        case "end":
          this.#calls.end(m.call, m.reason, m.usage, m.error);
          break;
        case "fatal":
          this.#fatal = m.message;
          break;
        case "loaded":
        case "evicted":
        case "hostDropped":
        case "preempted":
          this.#emit(m);
          break;
        case "ready":
        case "openFailed":
          break;
      }
    }
  }

  #emit(message: Parameters<typeof eventOf>[0]): void {
    if (this.#listeners.size === 0) return;
    const event = eventOf(message, (handle) => this.#calls.id(handle));
    if (event !== null) this.#tellAll(event);
  }

  #tellAll(event: EngineEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** The child is gone: every call ends once, residency is empty, then back-off and restart. */
  #lost(why: string): void {
    const wasUp = this.#up;
    const message = this.#fatal === null ? why : `${this.#fatal} (${why})`;
    this.#up = false;
    this.#link = null;
    this.#watchdog?.stop();
    this.#watchdog = null;
    if (wasUp && this.#closed === null) this.#tellAll({ kind: "lost", message });
    this.#calls.endAll("failed", { code: "engine_lost", message, status: 503 });
    for (const pending of this.#pending.values()) pending.lost();
    this.#pending.clear();
    this.#onGone?.();
    if (wasUp) this.#restartLater();
  }

  #restartLater(): void {
    if (this.#closed !== null || this.#failedStarts > this.options.maxRestarts) return;
    const delay = Math.min(10_000, this.options.restartDelayMs * 2 ** this.#failedStarts);
    this.#restartTimer = setTimeout(() => {
      this.#failedStarts++;
      this.#open().then(
        (description) => this.#tellAll({ kind: "ready", description }),
        () => this.#restartLater(),
      );
    }, delay);
  }

  async #shutDown(): Promise<void> {
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const link = this.#link;
    this.#calls.endAll("cancelled", null);
    this.#up = false;
    if (link !== null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => link.kill("SIGKILL"), 5_000);
        this.#onGone = () => {
          clearTimeout(timer);
          resolve();
        };
        link.send({ op: "close" });
      });
    }
    this.#listeners.clear();
  }
}

function lostError(): EngineError {
  return new EngineError("engine_lost", "the engine went down before it answered", 503);
}

function closedError(): EngineError {
  return new EngineError("engine_closed", "the engine is closed", 503);
}
