/**
 * A deterministic engine without a model: honest books, steps by hand or by timer, every failure on demand. For our tests and for
 * those of users. It obeys every command exactly, as the embedded engine does, and its output never depends on scheduling.
 */
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
import { carryOut } from "./commands.ts";
import type { CallScript } from "./job.ts";
import { Job } from "./job.ts";
import { admitJobs, loadPrefixes, makeRoom } from "./residency.ts";
import { SCRIPTED_KV_BYTES, ScriptedState } from "./state.ts";
import type { ScriptedAlphabet } from "./text.ts";
import { outputToken, prepareWords } from "./text.ts";

export interface ScriptedOptions {
  readonly model?: string;
  /** Budget B, tokens. */
  readonly kvTokens?: number;
  readonly contextTokens?: number;
  readonly maxRunning?: number;
  /** Prefill tokens per step, all calls and loads together. */
  readonly chunkTokens?: number;
  /** Milliseconds between steps while there is work; 0: every turn of the event loop; "manual": only `tick()` moves time. */
  readonly stepMs?: number | "manual";
  /** Host tier, tokens; 0: none, then evicting drops and preempting recomputes. */
  readonly hostTokens?: number;
  /** Hold `maxTokens` at admission, so that a call never lacks a cell (default). False: calls may be preempted by the engine. */
  readonly reserve?: boolean;
  /** Shorter prefixes are not shared. */
  readonly minPrefixTokens?: number;
  readonly alphabet?: ScriptedAlphabet;
  readonly script?: (call: EngineCall) => CallScript | undefined;
}

export class ScriptedEngine implements Engine {
  readonly options: Required<Omit<ScriptedOptions, "script">>;
  /** Books and queue, open for assertions in tests. */
  readonly state: ScriptedState;
  steps = 0;
  /** Calls that ended in the running step: told after the step's event, so that deltas come before the end they lead to. */
  #ends: (readonly [Job, Pick<CallEnd, "reason" | "error">])[] = [];
  readonly #script: (call: EngineCall) => CallScript | undefined;
  #timer: { readonly clear: () => void } | null = null;
  #up = false;
  #closed = false;

  constructor(options: ScriptedOptions = {}) {
    const kvTokens = options.kvTokens ?? 4_096;
    this.options = {
      model: "scripted",
      contextTokens: kvTokens,
      maxRunning: 8,
      chunkTokens: 256,
      stepMs: 1,
      hostTokens: kvTokens,
      reserve: true,
      minPrefixTokens: 16,
      alphabet: "words",
      ...options,
      kvTokens,
    };
    this.#script = options.script ?? (() => undefined);
    this.state = new ScriptedState(this.options);
  }

  start(): Promise<EngineDescription> {
    this.#up = !this.#closed;
    return this.#closed
      ? Promise.reject(new EngineError("engine_closed", "the engine is closed", 503))
      : Promise.resolve(this.describe());
  }

  describe(): EngineDescription {
    const { model, kvTokens, contextTokens, maxRunning, chunkTokens, stepMs, hostTokens } = this.options;
    const stepSeconds = (stepMs === "manual" ? 1 : Math.max(stepMs, 1)) / 1_000;
    return {
      engine: "scripted",
      version: null,
      model,
      wire: "tokens",
      kvBudgetTokens: kvTokens,
      blockTokens: 1,
      maxRunning,
      contextTokens,
      kvBytesPerToken: SCRIPTED_KV_BYTES,
      prefillSecondsPerToken: stepSeconds / chunkTokens,
      decodeSecondsPerToken: stepSeconds,
      copyBytesPerSecond: 1e9,
      hostTier: hostTokens > 0,
      keep: "enforced",
      load: "enforced",
      evict: "enforced",
      preempt: "enforced",
      redo: hostTokens > 0 ? "swap" : "reprefill",
      residencySource: "own-books",
      notes: ["scripted: no model, tokens are a function of prompt and position"],
    };
  }

  prepare(input: PromptInput): Promise<PreparedPrompt> {
    try {
      const prepared = prepareWords(input, this.options.model, this.options.minPrefixTokens);
      if (prepared.prefix !== null) this.state.remember(`prefix:${prepared.prefix.id}`, prepared.prefix.tokens);
      return Promise.resolve(prepared);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  submit(call: EngineCall, sink: EngineSink): void {
    const tokens = call.prompt.tokens;
    const refusal = this.#refusal(call, tokens);
    const job = new Job(call, tokens ?? new Int32Array(0), sink, this.#script(call) ?? {});
    if (refusal !== null) {
      // Later, so that a sink never hears of its end before `submit` has returned.
      queueMicrotask(() => sink.end({ ...refusal, usage: { ...job.usage(0), computedTokens: 0, completionTokens: 0 } }));
      return;
    }
    if (job.prefix !== null) this.state.remember(job.prefix, job.prefixTokens);
    this.state.jobs.set(call.id, job);
    this.state.queue.push(job);
    this.#wake();
  }

  #refusal(call: EngineCall, tokens: Int32Array | null): Pick<CallEnd, "reason" | "error"> | null {
    const say = (reason: "refused" | "failed", code: string, message: string, status: number, retryable = false) => ({
      reason,
      error: { code, message, status, retryable },
    });
    if (!this.#up) return say("failed", "engine_lost", "the engine is down", 503, true);
    if (this.state.jobs.has(call.id)) return say("refused", "duplicate_request_id", `${call.id} is in flight`, 409);
    if (tokens === null || tokens.length === 0) return say("refused", "empty_prompt", "the prompt has no tokens", 400);
    if (call.sampling.seed === 0xffffffff) return say("refused", "invalid_request", "seed 0xFFFFFFFF means random", 400);
    if (call.maxTokens < 1) return say("refused", "invalid_request", "maxTokens must be at least 1", 400);
    const whole = tokens.length + call.maxTokens;
    const room = Math.min(this.options.contextTokens, this.options.kvTokens);
    return whole <= room ? null : say("refused", "context_length_exceeded", `${whole} tokens can never fit ${room}`, 400);
  }

  cancel(id: string): void {
    const job = this.state.jobs.get(id);
    if (job !== undefined) this.#finish(job, { reason: "cancelled" });
  }

  resume(): void {}

  apply(commands: readonly EngineCommand[]): Promise<readonly CommandOutcome[]> {
    const outcomes = commands.map(async (command) => carryOut(this.state, command));
    this.#wake();
    return Promise.all(outcomes);
  }

  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.state.listeners.add(listener);
    return () => void this.state.listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#up = false;
    for (const job of this.state.jobs.values()) this.#finish(job, { reason: "cancelled" });
    this.state.reset();
    this.#timer?.clear();
    this.#timer = null;
    this.state.listeners.clear();
    return Promise.resolve();
  }

  /** The engine process dies: every call ends once, residency is empty, `lost` is announced. Down until {@link recover}. */
  crash(message = "crashed by script"): void {
    this.#up = false;
    this.state.emit({ kind: "lost", message });
    for (const job of this.state.jobs.values()) {
      const retryable = job.output.length === 0;
      this.#finish(job, { reason: "failed", error: { code: "engine_lost", message, status: 503, retryable } });
    }
    this.state.reset();
  }

  /** Comes back empty and announces `ready`. */
  recover(): void {
    if (this.#closed || this.#up) return;
    this.#up = true;
    this.state.emit({ kind: "ready", description: this.describe() });
  }

  /** Lets a stalled call go on. */
  release(id: string): void {
    const job = this.state.jobs.get(id);
    if (job !== undefined) job.stalled = false;
    this.#wake();
  }

  /** @throws EngineError `invariant` when free + prefix + session + private is not B, or a call holds what it should not. */
  checkInvariants(): void {
    this.state.check();
  }

  /** Runs `steps` steps now. The only way time passes when `stepMs` is "manual". */
  tick(steps = 1): void {
    for (let done = 0; done < steps && this.#up; done++) this.#step();
  }

  #step(): void {
    admitJobs(this.state);
    let chunk = loadPrefixes(this.state, this.options.chunkTokens);
    const deltas: { request: string; prefilled: number; decoded: number }[] = [];
    for (const job of this.state.jobs.values()) {
      const prefilled = job.state === "running" && !job.stalled ? this.#prefill(job, chunk) : 0;
      chunk -= prefilled;
      const decoded = this.#decode(job) ? 1 : 0;
      if (prefilled + decoded > 0) deltas.push({ request: job.call.id, prefilled, decoded });
    }
    if (!this.#up) return;
    this.steps += 1;
    this.checkInvariants();
    const ms = this.options.stepMs === "manual" ? 1 : this.options.stepMs;
    this.state.emit({ kind: "step", ms, freeTokens: this.state.ledger.free, deltas });
    for (const [job, end] of this.#ends.splice(0)) this.#finish(job, end);
  }

  #prefill(job: Job, chunk: number): number {
    const count = Math.min(job.target - job.cells, chunk);
    if (count === 0 || !makeRoom(this.state, count, job)) return 0;
    job.computed += count;
    job.redone += Math.max(0, Math.min(job.mark, job.cells + count) - job.cells);
    this.state.hold(job, job.cells + count);
    return count;
  }

  #decode(job: Job): boolean {
    if (job.state !== "running" || job.stalled || job.cells < job.target) return false;
    if (!makeRoom(this.state, 1, job)) return false;
    const { token, piece } = outputToken(job.base, job.output.length, this.options.alphabet);
    job.output.push(token);
    this.state.hold(job, job.cells + 1);
    if (job.output.length === job.script.stallAfter) job.stalled = true;
    const end: Pick<CallEnd, "reason" | "error"> | null = job.cut.push(token, piece) ? { reason: "stop" } : job.finished();
    if (end !== null) this.#ends.push([job, end]);
    return true;
  }

  /** The one place where a call ends. */
  #finish(job: Job, end: Pick<CallEnd, "reason" | "error">): void {
    if (job.state === "ended") return;
    const cells = job.cells;
    this.state.suspend(job);
    this.state.ledger.swapped.delete(job.call.id);
    job.state = "ended";
    this.state.jobs.delete(job.call.id);
    const retain = job.session !== null && (end.reason === "stop" || end.reason === "length") ? job.session : null;
    if (retain !== null) this.state.ledger.addSession(retain, { sequence: job.sequence(), prefix: job.prefix, cells });
    if (end.reason !== "cancelled") job.cut.flush();
    job.sink.end({ ...end, usage: job.usage(retain === null ? 0 : cells) });
  }

  /** Schedules the next step while there is work. */
  #wake(): void {
    const { stepMs } = this.options;
    if (stepMs === "manual" || this.#timer !== null || !this.#up) return;
    const run = (): void => {
      this.#timer = null;
      this.tick();
      const loading = [...this.state.ledger.prefixes.values()].some((entry) => entry.filled < entry.tokens);
      const live = [...this.state.jobs.values()].some((job) => job.state !== "preempted" && !job.stalled);
      if (loading || live) this.#wake();
    };
    if (stepMs > 0) {
      const timer = setTimeout(run, stepMs);
      this.#timer = { clear: () => clearTimeout(timer) };
    } else {
      const immediate = setImmediate(run);
      this.#timer = { clear: () => clearImmediate(immediate) };
    }
  }
}
