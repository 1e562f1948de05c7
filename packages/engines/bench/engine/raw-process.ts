/**
 * The bare loop our engine is compared with: fill a batch, `llama_decode`, greedy sampler, again. One thread, no scheduler, no books,
 * no message between two steps. It opens the model with the engine's own function, so that all context settings are the same.
 */
import type { OpenOptions } from "../../src/llama/protocol.ts";
import { RowBatch } from "../../src/llama/batch.ts";
import type { OpenModel } from "../../src/llama/model.ts";
import { openModel } from "../../src/llama/model.ts";
import type { Job, Run } from "./jobs.ts";
import { CHUNK, DECODE_PROMPT, words } from "./jobs.ts";

export type ToRaw = { readonly open: OpenOptions } | { readonly job: Job };
export type FromRaw = { readonly ready: true } | { readonly run: Run } | { readonly failed: string };

class RawLoop {
  readonly #open: OpenModel;
  readonly #batch: RowBatch;
  /** Stateless when greedy: one for all rows. */
  readonly #sampler: bigint;
  #stepMs: number[] = [];
  #insideMs: number[] = [];
  #mark = 0;

  constructor(open: OpenModel) {
    const { llama } = open;
    this.#open = open;
    this.#batch = new RowBatch(llama, open.batchRows);
    this.#sampler = llama.chainNew(llama.chainDefaults());
    llama.chainAdd(this.#sampler, llama.greedy());
  }

  run(job: Job): Run {
    if (job.kind === "prefill") this.#prefill(job.tokens);
    else this.#decode(job.batch, job.steps);
    for (let seq = 0; seq < this.#open.sequences; seq++) this.#open.llama.seqRemove(this.#open.memory, seq, -1, -1);
    return { stepMs: this.#stepMs, insideMs: this.#insideMs };
  }

  #prefill(count: number): void {
    const prompt = words(count, 1);
    for (let from = 0; from < count; from += CHUNK) {
      const end = Math.min(count, from + CHUNK);
      this.#batch.clear();
      for (let i = from; i < end; i++) this.#batch.add(prompt[i] ?? 0, i, 0, i === count - 1);
      this.#step();
      if (end === count) this.#sample(end - from - 1);
      this.#ended(from === 0);
    }
  }

  #decode(sequences: number, steps: number): void {
    this.#batch.clear();
    const next = new Int32Array(sequences);
    for (let seq = 0; seq < sequences; seq++) {
      for (const [i, token] of words(DECODE_PROMPT, seq).entries()) this.#batch.add(token, i, seq, i === DECODE_PROMPT - 1);
    }
    this.#step();
    for (let seq = 0; seq < sequences; seq++) next[seq] = this.#sample((seq + 1) * DECODE_PROMPT - 1);
    for (let step = 0; step <= steps; step++) {
      this.#batch.clear();
      for (let seq = 0; seq < sequences; seq++) this.#batch.add(next[seq] ?? 0, DECODE_PROMPT + step, seq, true);
      this.#step();
      for (let seq = 0; seq < sequences; seq++) next[seq] = this.#sample(seq);
      this.#ended(step === 0);
    }
  }

  #ended(first: boolean): void {
    const now = performance.now();
    if (first) {
      this.#stepMs = [];
      this.#insideMs = [];
    } else this.#stepMs.push(now - this.#mark);
    this.#mark = now;
  }

  #step(): void {
    const started = performance.now();
    const code = this.#open.llama.decode(this.#open.ctx, this.#batch.struct);
    this.#insideMs.push(performance.now() - started);
    if (code !== 0) throw new Error(`llama_decode returned ${code}`);
  }

  #sample(row: number): number {
    return this.#open.llama.sample(this.#sampler, this.#open.ctx, row);
  }
}

let loop: RawLoop | null = null;

async function answer(message: ToRaw): Promise<FromRaw> {
  if ("open" in message) {
    loop = new RawLoop(await openModel(message.open));
    return { ready: true };
  }
  if (loop === null) throw new Error("no model is open");
  return { run: loop.run(message.job) };
}

process.on("message", (message: ToRaw) => {
  const send = (reply: FromRaw): void => void process.send?.(reply);
  answer(message).then(send, (error: unknown) => send({ failed: error instanceof Error ? error.message : String(error) }));
});
process.on("disconnect", () => process.exit(0));
