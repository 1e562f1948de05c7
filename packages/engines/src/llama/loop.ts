/**
 * Continuous batching: one `llama_decode` a step, in it one row for every decoding call and then prefill chunks. Commands queue up
 * while a step is in flight and are applied at its boundary, so nothing ever touches the context from two sides.
 */
import { RowBatch } from "./batch.ts";
import { CallTable } from "./call-table.ts";
import type { Loading } from "./commands.ts";
import { applyCommand, stepLoads } from "./commands.ts";
import { HostTier } from "./host-tier.ts";
import { Kv } from "./kv.ts";
import type { OpenModel } from "./model.ts";
import { Placer } from "./placement.ts";
import { StepPlanner } from "./planner.ts";
import type { EndReason, Envelope, FromChild, OpenOptions, ToChild } from "./protocol.ts";
import type { Request } from "./request.ts";
import { countRows } from "./request.ts";
import { Residency } from "./residency.ts";
import { StepOutput } from "./step-output.ts";
import type { Vocabulary } from "./text.ts";

export type LoopCommand = Exclude<ToChild, { op: "open" | "tokenize" | "ping" | "close" }>;

/** Steps expected to be shorter run on the event loop itself: going to a worker thread and back costs about 0.05 ms. */
const SHORT_STEP_MS = 5;
/** Tokens of such steps may wait this long for the next message. */
const HOLD_MS = 4;

export class StepLoop {
  readonly kv: Kv;
  readonly host: HostTier;
  readonly residency: Residency;
  readonly calls: CallTable;
  readonly planner: StepPlanner;
  /** `load` commands not answered yet. */
  readonly loads: Loading[] = [];
  steps = 0;
  readonly #open: OpenModel;
  readonly #checked: boolean;
  readonly #send: (envelope: Envelope) => void;
  readonly #fail: (message: string) => void;
  readonly #placer: Placer;
  readonly #batch: RowBatch;
  readonly #output: StepOutput;
  #queue: LoopCommand[] = [];
  #out: FromChild[] = [];
  #scheduled = false;
  #decodeOnly = false;
  #inFlightSince = 0;
  /** How long the last step without prefills took. */
  #decodeMs = Infinity;
  /** Something more than tokens waits to be sent. */
  #urgent = false;
  #sentAt = 0;
  #closing: (() => void) | null = null;

  /** `fail`: the context cannot be trusted any more; no step follows. */
  constructor(
    open: OpenModel,
    vocabulary: Vocabulary,
    options: OpenOptions,
    send: (e: Envelope) => void,
    fail: (m: string) => void,
  ) {
    const emit = (message: FromChild): void => this.emit(message);
    this.#open = open;
    this.#checked = options.checkEveryStep;
    this.#send = send;
    this.#fail = (message) => {
      this.#closing = () => undefined;
      fail(message);
    };
    this.kv = new Kv(open);
    this.host = new HostTier(options.hostTierBytes);
    this.residency = new Residency(this.kv, this.host, emit);
    const { kv, host, residency } = this;
    const isCommanded = (entry: string): boolean => this.loads.some((load) => load.waitsFor === entry);
    this.calls = new CallTable({ open, vocabularySize: vocabulary.size, kv, host, residency, emit, isCommanded });
    residency.pins = () => this.calls.pins();
    this.#placer = new Placer(kv, host, residency);
    this.#batch = new RowBatch(open.llama, open.batchRows);
    this.planner = new StepPlanner(kv, residency, this.calls, this.#batch, options.chunkTokens);
    this.#output = new StepOutput(vocabulary);
  }

  /** Milliseconds the step in flight has run; 0 when none is. */
  get stepMs(): number {
    return this.#inFlightSince === 0 ? 0 : performance.now() - this.#inFlightSince;
  }

  emit(message: FromChild): void {
    this.#out.push(message);
    this.#urgent = true;
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

  #schedule(): void {
    if (this.#inFlightSince !== 0 || this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#inFlightSince === 0) this.#boundary();
    });
  }

  /** Between two steps: commands, placements, messages, the next step. */
  #boundary(): void {
    if (this.#closing !== null) {
      this.#batch.free();
      return this.#closing();
    }
    const commands = this.#queue;
    this.#queue = [];
    for (const command of commands) applyCommand(this, command);
    for (let tries = 0; ; tries++) {
      this.#place();
      this.planner.plan(this.#decodeOnly);
      this.#decodeOnly = false;
      if (this.#batch.rows > 0 || !this.planner.pending() || !this.planner.unstall(tries)) break;
    }
    this.calls.relaxed = false;
    if (this.#checked) this.#check();
    if (this.#closing !== null) return;
    const rows = this.#batch.rows;
    const decodesOnly = rows === this.planner.decoding.length;
    const short = rows > 0 && decodesOnly && this.#decodeMs < SHORT_STEP_MS;
    const now = performance.now();
    if (this.#urgent || !short || now - this.#sentAt >= HOLD_MS) this.#flush(now);
    if (rows === 0) return;
    this.#inFlightSince = now;
    const { llama, ctx } = this.#open;
    if (short) {
      if (this.#done(null, llama.decode(ctx, this.#batch.struct), true)) this.#schedule();
      return;
    }
    llama.decodeAsync(ctx, this.#batch.struct, (error, code) => {
      if (this.#done(error, code, decodesOnly)) this.#boundary();
    });
  }

  /** A step is over. False: the context cannot be trusted any more. */
  #done(error: Error | null, code: number, decodesOnly: boolean): boolean {
    const ms = performance.now() - this.#inFlightSince;
    this.#inFlightSince = 0;
    if (decodesOnly) this.#decodeMs = ms;
    if (error !== null) this.#fail(`llama_decode: ${error.message}`);
    else if (code === 0) this.#stepped(ms);
    else if (code === 1) this.#decodeOnly = this.planner.noCells();
    else if (code === -1) this.#rejected();
    else this.#fail(`llama_decode returned ${code}`);
    return error === null && code >= -1 && code <= 1;
  }

  #place(): void {
    stepLoads(this);
    for (const r of this.calls.live.values()) {
      if (r.phase !== "waiting") continue;
      const result = this.#placer.place(r);
      if (result === "blocked") return;
      if (result === "mismatch") {
        const error = { code: "prefix_mismatch", message: "the prompt does not begin with the prefix of that id", status: 400 };
        this.calls.finish(r, "refused", { ...error, retryable: false });
      }
    }
  }

  #check(): void {
    const wrong = this.kv.check();
    if (wrong !== null) this.#fail(`the books are wrong after step ${this.steps}: ${wrong}`);
  }

  #flush(now: number): void {
    this.#urgent = false;
    this.#sentAt = now;
    if (this.#out.length === 0) return;
    const out = this.#out;
    this.#out = [];
    this.#send(out);
  }

  #stepped(ms: number): void {
    this.steps++;
    const { decoding, prefilling } = this.planner;
    const output = this.#output;
    output.clear();
    for (const r of decoding) {
      this.kv.ledger.grow(r.seq, 1);
      countRows(r, 1);
    }
    for (const job of prefilling) {
      if (job.rows === 0) continue;
      if ("call" in job) {
        this.kv.ledger.grow(job.seq, job.rows);
        countRows(job, job.rows);
        output.prefilled(job.call, job.rows);
      } else {
        this.kv.ledger.fill(job.seq, job.id, job.rows);
        this.residency.filled(job, job.rows);
      }
    }
    const ended: [Request, EndReason][] = [];
    for (const r of decoding) this.#sample(r, ended);
    for (const job of prefilling) if ("call" in job && job.rows > 0 && job.sampleRow >= 0) this.#sample(job, ended);
    this.#out.push(output.message(this.steps, ms, this.kv.free));
    // First tokens and progress of prefills are waited for.
    if (prefilling.length > 0) this.#urgent = true;
    for (const [r, reason] of ended) this.calls.finish(r, reason);
  }

  #sample(r: Request, ended: [Request, EndReason][]): void {
    const token = this.#open.llama.sample(r.chain, this.#open.ctx, r.sampleRow);
    r.tokens[r.known++] = token;
    r.generated++;
    const reason = this.#output.token(r, token, r.generated >= r.maxTokens);
    if (reason !== null) ended.push([r, reason]);
  }

  /** An invalid batch: nothing was written, and the fault is ours. Its calls end, the others go on. */
  #rejected(): void {
    this.planner.defects++;
    const error = { code: "engine_fault", message: "the engine rejected a batch", status: 500, retryable: true };
    for (const r of this.planner.decoding) this.calls.finish(r, "failed", error);
    for (const job of this.planner.prefilling) {
      if (job.rows === 0) continue;
      if ("call" in job) this.calls.finish(job, "failed", error);
      else this.residency.evict(job.id, false);
    }
  }
}
