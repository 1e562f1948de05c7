/** Which rows the next step computes: decodes always, prefills as far as chunk and cells allow; and what gives way when cells run out. */
import type { RowBatch } from "./batch.ts";
import type { CallTable } from "./call-table.ts";
import type { Kv } from "./kv.ts";
import type { Request } from "./request.ts";
import { isDecoding } from "./request.ts";
import type { Entry, Residency } from "./residency.ts";

/** Prefill rows a step gets however many calls decode, so that newcomers are never starved. */
const LEAST_PREFILL_ROWS = 16;

export class StepPlanner {
  /** Of the step planned last: calls with one row, then calls and loading prefixes with `rows` rows, oldest first. */
  readonly decoding: Request[] = [];
  readonly prefilling: (Request | Entry)[] = [];
  /** Times the library contradicted the books: must stay 0. */
  defects = 0;
  /** Times a call had to give way because cells ran out: the scheduler promised more than there was. */
  overflows = 0;
  readonly #kv: Kv;
  readonly #residency: Residency;
  readonly #calls: CallTable;
  readonly #batch: RowBatch;
  readonly #chunkTokens: number;

  constructor(kv: Kv, residency: Residency, calls: CallTable, batch: RowBatch, chunkTokens: number) {
    this.#kv = kv;
    this.#residency = residency;
    this.#calls = calls;
    this.#batch = batch;
    this.#chunkTokens = chunkTokens;
  }

  /** `decodeOnly`: the last step found no cells although the books had some. */
  plan(decodeOnly: boolean): void {
    const batch = this.#batch;
    batch.clear();
    this.prefilling.length = 0;
    this.#secureDecodes();
    for (const r of this.decoding) {
      r.rows = 1;
      r.sampleRow = batch.add(r.tokens[r.inKv] ?? 0, r.inKv, r.seq, true);
    }
    const decodes = batch.rows;
    if (decodeOnly && decodes > 0) return;
    const chunk = Math.max(this.#chunkTokens - decodes, Math.min(LEAST_PREFILL_ROWS, this.#chunkTokens));
    let rows = Math.min(this.#collectPrefills(), chunk, batch.capacity - decodes);
    if (rows > 0 && this.#kv.free < decodes + rows) {
      this.#residency.makeRoom(decodes + rows);
      // Evicting may have dropped a load that nobody waits for.
      rows = Math.min(this.#collectPrefills(), rows, this.#kv.free - decodes);
    }
    for (const job of this.prefilling) rows -= "call" in job ? this.#addCall(job, rows) : this.#addLoad(job, rows);
  }

  /** Is there anything that should run? */
  pending(): boolean {
    if (this.#calls.head() !== null) return true;
    for (const entry of this.#residency.all()) if (entry.state === "loading") return true;
    return false;
  }

  /** Nothing can run although something should: give up more and more, the oldest call's needs last. False: nothing left to give. */
  unstall(tries: number): boolean {
    const calls = this.#calls;
    if (tries > 2 * calls.live.size + 8) return false;
    if (!calls.relaxed) {
      calls.relaxed = true;
      this.#residency.makeRoom(1);
      return true;
    }
    const head = calls.head();
    const victim = overflowVictim(calls.live.values(), this.#kv, head);
    if (victim === null && head === null) return false;
    this.overflows++;
    if (victim !== null) calls.preempt(victim, "swap", "engine");
    else if (head !== null) {
      const error = { code: "engine_no_room", message: "no room although nothing else runs", status: 503, retryable: true };
      calls.finish(head, "failed", error);
    }
    return true;
  }

  /** A step with these rows found no cells in spite of the books. Returns whether to try once more with decodes only. */
  noCells(): boolean {
    this.defects++;
    if (this.decoding.length > 0 && this.prefilling.some((job) => job.rows > 0)) return true;
    const victim = overflowVictim(this.#calls.live.values(), this.#kv, null);
    if (victim !== null) this.#calls.preempt(victim, "swap", "engine");
    return false;
  }

  /** Collects the decoding calls and makes the cells for them: evict, then evict what only waiting calls need, then preempt. */
  #secureDecodes(): void {
    const calls = this.#calls;
    for (;;) {
      this.decoding.length = 0;
      for (const r of calls.live.values()) if (r.phase === "active" && isDecoding(r)) this.decoding.push(r);
      const n = this.decoding.length;
      if (this.#kv.free >= n || this.#residency.makeRoom(n)) return;
      const before = calls.relaxed;
      calls.relaxed = true;
      const enough = this.#residency.makeRoom(n);
      calls.relaxed = before;
      if (enough) return;
      const victim = overflowVictim(calls.live.values(), this.#kv, null);
      if (victim === null) return;
      this.overflows++;
      calls.preempt(victim, "swap", "engine");
    }
  }

  /** Fills the list of prefill work, oldest first. Returns its tokens. */
  #collectPrefills(): number {
    this.prefilling.length = 0;
    let wanted = 0;
    for (const entry of this.#residency.all()) {
      if (entry.state !== "loading") continue;
      this.prefilling.push(entry);
      wanted += entry.tokens.length - this.#kv.ledger.length(entry.seq);
    }
    for (const r of this.#calls.live.values()) {
      if (r.phase !== "active" || isDecoding(r)) continue;
      this.prefilling.push(r);
      wanted += r.known - r.inKv;
    }
    if (this.prefilling.length > 1) this.prefilling.sort((a, b) => a.order - b.order);
    return wanted;
  }

  #addCall(r: Request, most: number): number {
    const end = r.inKv + Math.min(r.known - r.inKv, most);
    r.sampleRow = -1;
    for (let i = r.inKv; i < end; i++) {
      const last = i === r.known - 1;
      const row = this.#batch.add(r.tokens[i] ?? 0, i, r.seq, last);
      if (last) r.sampleRow = row;
    }
    r.rows = end - r.inKv;
    return r.rows;
  }

  #addLoad(entry: Entry, most: number): number {
    const from = this.#kv.ledger.length(entry.seq);
    const end = from + Math.min(entry.tokens.length - from, most);
    for (let i = from; i < end; i++) this.#batch.add(entry.tokens[i] ?? 0, i, entry.seq, false);
    entry.rows = end - from;
    return entry.rows;
  }
}

/** The overflow rule (SGLang's): fewest generated tokens, then longest prompt, then latest admitted. null: nobody's cells would help. */
export function overflowVictim(requests: Iterable<Request>, kv: Pick<Kv, "ledger">, spared: Request | null): Request | null {
  let victim: Request | null = null;
  for (const r of requests) {
    if (r.phase !== "active" || r === spared || kv.ledger.gain(r.seq) === 0) continue;
    if (victim === null || goesBefore(r, victim)) victim = r;
  }
  return victim;
}

function goesBefore(a: Request, b: Request): boolean {
  if (a.generated !== b.generated) return a.generated < b.generated;
  if (a.promptTokens !== b.promptTokens) return a.promptTokens > b.promptTokens;
  return a.order > b.order;
}
