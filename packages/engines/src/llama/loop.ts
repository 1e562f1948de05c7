/**
 * Continuous batching: one `llama_decode` a step, in it one row for every decoding call and then prefill chunks. Commands queue up
 * while a step is in flight and are applied at its boundary, so nothing ever touches the context from two sides.
 */
import type { EntryId } from "@topas/core";
import { RowBatch } from "./batch.ts";
import { applyCommand, type Loading, stepLoads } from "./commands.ts";
import { HostTier } from "./host-tier.ts";
import { Kv } from "./kv.ts";
import type { OpenModel } from "./model.ts";
import { Placer } from "./placement.ts";
import type { CallHandle, EndError, EndReason, Envelope, FromChild, OpenOptions, SubmitMessage, ToChild } from "./protocol.ts";
import type { Request } from "./request.ts";
import { isDecoding, makeRequest, usageOf } from "./request.ts";
import type { Entry } from "./residency.ts";
import { Residency } from "./residency.ts";
import { makeChain, samplingProblem } from "./sampler.ts";
import { overflowVictim } from "./shortage.ts";
import { StepOutput } from "./step-output.ts";
import type { Vocabulary } from "./text.ts";

export type LoopCommand = Extract<
  ToChild,
  { op: "submit" | "cancel" | "preempt" | "resume" | "load" | "evict" | "dropHost" | "rank" | "inspect" }
>;

/** Prefill rows a step gets however many calls decode, so that newcomers are never starved. */
const LEAST_PREFILL_ROWS = 16;

export class StepLoop {
  readonly open: OpenModel;
  readonly kv: Kv;
  readonly host: HostTier;
  readonly residency: Residency;
  readonly requests = new Map<CallHandle, Request>();
  /** `load` commands not answered yet. */
  readonly loads: Loading[] = [];
  steps = 0;
  /** Times the books and the cache disagreed, or a call had to be preempted because cells ran out. */
  defects = 0;
  readonly #options: OpenOptions;
  readonly #send: (envelope: Envelope) => void;
  readonly #fail: (message: string) => void;
  readonly #placer: Placer;
  readonly #batch: RowBatch;
  readonly #output: StepOutput;
  #queue: LoopCommand[] = [];
  #out: FromChild[] = [];
  readonly #prefilling: (Request | Entry)[] = [];
  readonly #decoding: Request[] = [];
  #order = 0;
  #scheduled = false;
  #relaxed = false;
  #decodeOnly = false;
  #inFlightSince = 0;
  #closing: (() => void) | null = null;

  constructor(
    open: OpenModel,
    vocabulary: Vocabulary,
    options: OpenOptions,
    send: (e: Envelope) => void,
    fail: (message: string) => void,
  ) {
    this.open = open;
    this.#options = options;
    this.#send = send;
    this.#fail = fail;
    this.kv = new Kv(open);
    this.host = new HostTier(options.hostTierBytes);
    this.residency = new Residency(this.kv, this.host, (message) => this.#out.push(message));
    this.residency.pins = () => this.#pins();
    this.#placer = new Placer(this.kv, this.host, this.residency);
    this.#batch = new RowBatch(open.llama, open.batchRows);
    this.#output = new StepOutput(vocabulary);
  }

  /** Milliseconds the step in flight has run; 0 when none is. */
  get stepMs(): number {
    return this.#inFlightSince === 0 ? 0 : performance.now() - this.#inFlightSince;
  }

  emit(message: FromChild): void {
    this.#out.push(message);
  }

  nextOrder(): number {
    return this.#order++;
  }

  enqueue(command: LoopCommand): void {
    this.#queue.push(command);
    this.#schedule();
  }

  /** Resolves between two steps, after which none is started. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closing = resolve;
      this.#schedule();
    });
  }

  submit(m: SubmitMessage): void {
    const order = this.nextOrder();
    const refuse = (code: string, message: string): void => {
      const error = { code, message, status: 400, retryable: false };
      const usage = { promptTokens: m.tokens.length, cachedTokens: 0, completionTokens: 0, computedTokens: 0, redoneTokens: 0 };
      this.#out.push({ ev: "end", call: m.call, reason: "refused", usage: { ...usage, retainedTokens: 0 }, error });
    };
    const limit = this.open.contextTokens;
    const whole = m.tokens.length + m.maxTokens;
    if (whole > limit) return refuse("context_length_exceeded", `${whole} tokens can never fit ${limit}`);
    if (m.tokens.length === 0 || !(m.maxTokens >= 1))
      return refuse("invalid_request", "a call needs a prompt and maxTokens of 1 or more");
    const size = this.#output.vocabularySize;
    if (m.tokens.some((t) => t < 0 || t >= size))
      return refuse("invalid_request", `a prompt token is outside the vocabulary of ${size}`);
    const wrong = samplingProblem(m.sampling);
    if (wrong !== null) return refuse("invalid_request", wrong);
    if (m.prefix !== null && m.prefix.tokens > m.tokens.length)
      return refuse("invalid_request", "the prefix is longer than the prompt");
    this.requests.set(m.call, makeRequest(m, order, makeChain(this.open.llama, m.sampling)));
  }

  /** Ends a call, whatever its phase. Its KV stays as its session's entry when it finished and has a session. */
  finish(r: Request, reason: EndReason, error: EndError | null = null): void {
    this.requests.delete(r.call);
    this.open.llama.samplerFree(r.chain);
    let retained = 0;
    if (r.phase === "active") {
      const own = this.kv.ledger.own(r.seq);
      if (r.session !== null && own > 0 && (reason === "stop" || reason === "length")) {
        retained = own;
        const prefix = r.prefix === null ? null : { entry: r.prefix.entry, tokens: r.tokens.slice(0, r.prefix.tokens) };
        this.residency.keepSession(r.session, r.seq, r.tokens.slice(0, r.inKv), r.shared === 0 ? null : prefix);
      } else this.kv.release(r.seq);
    }
    if (r.saved !== null) this.host.unpin(r.saved.length);
    for (const entry of this.residency.all()) if (entry.owner === r) entry.owner = null;
    this.#dropUnwantedLoad(r);
    this.#out.push({ ev: "end", call: r.call, reason, usage: usageOf(r, retained), error });
  }

  /** Takes a call's cells away; it stays preempted until resumed. Returns the cells freed and bytes saved. */
  preempt(r: Request, keep: "swap" | "recompute", by: "us" | "engine"): { freed: number; bytes: number } {
    let freed = 0;
    let bytes = 0;
    if (r.phase === "active") {
      freed = this.kv.ledger.gain(r.seq);
      const own = this.kv.ledger.own(r.seq);
      if (keep === "swap" && own > 0) {
        const state = this.kv.saveSuffixAndRelease(r.seq);
        const dropped = this.host.pin(state.length);
        for (const entry of dropped ?? []) this.#out.push({ ev: "hostDropped", entry });
        if (dropped !== null) r.saved = state;
      } else this.kv.release(r.seq);
      r.seq = -1;
      if (r.saved === null) r.inKv = r.shared;
      else bytes = r.saved.length;
    }
    r.phase = "preempted";
    this.#dropUnwantedLoad(r);
    const keptTokens = r.saved === null ? 0 : r.inKv - r.shared;
    this.#out.push({ ev: "preempted", call: r.call, by, keptTokens, bytes });
    return { freed, bytes };
  }

  #schedule(): void {
    if (this.#inFlightSince !== 0 || this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  /** One boundary: commands, placements, the next step. */
  #pump(): void {
    if (this.#inFlightSince !== 0) return;
    if (this.#closing !== null) {
      this.#batch.free();
      return this.#closing();
    }
    const commands = this.#queue;
    this.#queue = [];
    for (const command of commands) applyCommand(this, command);
    for (let tries = 0; ; tries++) {
      this.#advance();
      this.#plan();
      if (this.#batch.rows > 0 || !this.#pending() || !this.#unstall(tries)) break;
    }
    this.#relaxed = false;
    this.#flush();
    if (this.#batch.rows === 0) return;
    this.#inFlightSince = performance.now();
    this.open.llama.decodeAsync(this.open.ctx, this.#batch.struct, (error, code) => {
      const ms = performance.now() - this.#inFlightSince;
      this.#inFlightSince = 0;
      if (error !== null) return this.#fail(`llama_decode: ${error.message}`);
      if (code === 0) this.#stepped(ms);
      else this.#decodeFailed(code);
      this.#pump();
    });
  }

  #flush(): void {
    if (this.#options.checkEveryStep) {
      const wrong = this.kv.check();
      if (wrong !== null) return this.#fail(`the books are wrong after step ${this.steps}: ${wrong}`);
    }
    if (this.#out.length === 0) return;
    const out = this.#out;
    this.#out = [];
    this.#send(out);
  }

  #pending(): boolean {
    for (const r of this.requests.values()) if (r.phase !== "preempted") return true;
    for (const entry of this.residency.all()) if (entry.state === "loading") return true;
    return false;
  }

  #advance(): void {
    stepLoads(this);
    for (const r of this.requests.values()) {
      if (r.phase !== "waiting") continue;
      const result = this.#placer.place(r);
      if (result === "blocked") return;
      if (result === "mismatch") {
        const error = { code: "prefix_mismatch", message: "the prompt does not begin with the prefix of that id", status: 400 };
        this.finish(r, "refused", { ...error, retryable: false });
      }
    }
  }

  /** Rows of the next step: decodes always, prefills as far as chunk and cells allow. */
  #plan(): void {
    this.#batch.clear();
    this.#prefilling.length = 0;
    this.#secureDecodes();
    for (const r of this.#decoding) {
      r.rows = 1;
      r.sampleRow = this.#batch.add(r.tokens[r.inKv] ?? 0, r.inKv, r.seq, true);
    }
    if (this.#decodeOnly) {
      this.#decodeOnly = false;
      if (this.#batch.rows > 0) return;
    }
    const decodes = this.#batch.rows;
    const wanted = this.#collectPrefills();
    const chunk = Math.max(this.#options.chunkTokens - decodes, Math.min(LEAST_PREFILL_ROWS, this.#options.chunkTokens));
    let rows = Math.min(wanted, chunk, this.#batch.capacity - decodes);
    if (rows > 0 && this.kv.free < decodes + rows) {
      this.residency.makeRoom(decodes + rows);
      rows = Math.min(rows, this.kv.free - decodes);
      // Evicting may have dropped a load that nobody waits for.
      this.#collectPrefills();
    }
    for (const job of this.#prefilling) {
      const known = "call" in job ? job.known : job.tokens.length;
      const from = "call" in job ? job.inKv : this.kv.ledger.length(job.seq);
      const n = Math.min(known - from, rows);
      job.rows = n;
      if ("call" in job) job.sampleRow = -1;
      for (let i = from; i < from + n; i++) {
        const last = "call" in job && i === known - 1;
        const row = this.#batch.add(job.tokens[i] ?? 0, i, job.seq, last);
        if (last) job.sampleRow = row;
      }
      rows -= n;
    }
  }

  #collectPrefills(): number {
    this.#prefilling.length = 0;
    let wanted = 0;
    for (const entry of this.residency.all()) {
      if (entry.state !== "loading") continue;
      this.#prefilling.push(entry);
      wanted += entry.tokens.length - this.kv.ledger.length(entry.seq);
    }
    for (const r of this.requests.values()) {
      if (r.phase !== "active" || isDecoding(r)) continue;
      this.#prefilling.push(r);
      wanted += r.known - r.inKv;
    }
    this.#prefilling.sort((a, b) => a.order - b.order);
    return wanted;
  }

  /** Fills the list of decoding calls, making the cells for them: evict, then evict what only waits, then preempt. */
  #secureDecodes(): void {
    for (;;) {
      this.#decoding.length = 0;
      for (const r of this.requests.values()) if (r.phase === "active" && isDecoding(r)) this.#decoding.push(r);
      const n = this.#decoding.length;
      if (this.kv.free >= n || this.residency.makeRoom(n)) return;
      this.#relaxed = true;
      const enough = this.residency.makeRoom(n);
      this.#relaxed = false;
      if (enough) return;
      const victim = overflowVictim(this.requests.values(), this.kv, null);
      if (victim === null) return;
      this.defects++;
      this.preempt(victim, "swap", "engine");
    }
  }

  /** Nothing can run although something should: give up more and more, the oldest call's needs last. False: nothing left to give. */
  #unstall(tries: number): boolean {
    if (tries > 2 * this.requests.size + 8) return false;
    if (!this.#relaxed) {
      this.#relaxed = true;
      this.residency.makeRoom(1);
      return true;
    }
    const head = this.#head();
    const victim = overflowVictim(this.requests.values(), this.kv, head);
    this.defects++;
    if (victim !== null) this.preempt(victim, "swap", "engine");
    else if (head !== null) {
      this.finish(head, "failed", {
        code: "engine_no_room",
        message: "no room although nothing else runs",
        status: 503,
        retryable: true,
      });
    } else return false;
    return true;
  }

  #head(): Request | null {
    for (const r of this.requests.values()) if (r.phase !== "preempted") return r;
    return null;
  }

  #pins(): ReadonlySet<EntryId> {
    const pinned = new Set<EntryId>();
    const head = this.#relaxed ? this.#head() : null;
    for (const r of this.requests.values()) {
      if (r.phase === "preempted" || (this.#relaxed && r.phase === "waiting" && r !== head)) continue;
      if (r.prefix !== null) pinned.add(r.prefix.entry);
      if (r.session !== null && r.phase === "waiting") pinned.add(r.session);
    }
    return pinned;
  }

  /** A prefix still loading that no live call and no command waits for is dropped. */
  #dropUnwantedLoad(gone: Request): void {
    const id = gone.prefix?.entry;
    if (id === undefined || this.residency.get(id)?.state !== "loading") return;
    for (const r of this.requests.values()) if (r.phase !== "preempted" && r.prefix?.entry === id) return;
    if (!this.loads.some((load) => load.waitsFor === id)) this.residency.evict(id, false);
  }

  #stepped(ms: number): void {
    this.steps++;
    const output = this.#output;
    output.clear();
    for (const r of this.#decoding) {
      this.kv.ledger.grow(r.seq, 1);
      this.#computed(r, 1);
    }
    for (const job of this.#prefilling) {
      if (job.rows === 0) continue;
      if ("call" in job) {
        this.kv.ledger.grow(job.seq, job.rows);
        this.#computed(job, job.rows);
        output.prefilled(job.call, job.rows);
      } else {
        this.kv.ledger.fill(job.seq, job.id, job.rows);
        if (job.owner !== null) output.prefilled(job.owner.call, job.rows);
        this.residency.filled(job, job.rows);
      }
    }
    const ended: [Request, EndReason][] = [];
    for (const r of this.#decoding) this.#sample(r, ended);
    for (const job of this.#prefilling) if ("call" in job && job.rows > 0 && job.sampleRow >= 0) this.#sample(job, ended);
    this.#out.push(output.message(this.steps, ms, this.kv.free));
    for (const [r, reason] of ended) this.finish(r, reason);
  }

  #computed(r: Request, rows: number): void {
    const end = r.inKv + rows;
    const redone = Math.max(0, Math.min(end, r.highWater) - r.inKv);
    const prompt = Math.max(0, Math.min(end, r.promptTokens) - r.inKv);
    const redonePrompt = Math.max(0, Math.min(end, r.highWater, r.promptTokens) - r.inKv);
    r.redoneTokens += redone;
    r.computedTokens += prompt + redone - redonePrompt;
    r.inKv = end;
    r.highWater = Math.max(r.highWater, end);
  }

  #sample(r: Request, ended: [Request, EndReason][]): void {
    const token = this.open.llama.sample(r.chain, this.open.ctx, r.sampleRow);
    r.tokens[r.known++] = token;
    r.generated++;
    const reason = this.#output.token(r, token, r.generated >= r.maxTokens);
    if (reason !== null) ended.push([r, reason]);
  }

  #decodeFailed(code: number): void {
    if (code === 1) {
      this.defects++;
      this.#decodeOnly = this.#decoding.length > 0 && this.#prefilling.some((job) => job.rows > 0);
      if (this.#decodeOnly) return;
      const victim = overflowVictim(this.requests.values(), this.kv, null);
      if (victim !== null) this.preempt(victim, "swap", "engine");
      return;
    }
    if (code !== -1) return this.#fail(`llama_decode returned ${code}`);
    this.defects++;
    const error = { code: "engine_fault", message: "the engine rejected a batch", status: 500, retryable: true };
    for (const r of this.#decoding) this.finish(r, "failed", error);
    for (const job of this.#prefilling) {
      if (job.rows === 0) continue;
      if ("call" in job) this.finish(job, "failed", error);
      else this.residency.evict(job.id, false);
    }
  }
}
