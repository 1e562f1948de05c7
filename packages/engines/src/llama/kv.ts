/** The library's KV memory and our books, changed together. Every sequence operation of the engine goes through here. */
import type { Handle, Llama } from "./ffi.ts";
import type { SequenceKind } from "./ledger.ts";
import { Ledger } from "./ledger.ts";
import type { OpenModel } from "./model.ts";

export class Kv {
  readonly ledger: Ledger;
  readonly #llama: Llama;
  readonly #ctx: Handle;
  readonly #memory: Handle;
  /** Free ids, the next one last. A restore needs ids below n_seq_max, so all are. */
  readonly #ids: number[] = [];

  constructor(open: OpenModel) {
    this.ledger = new Ledger(open.cells);
    this.#llama = open.llama;
    this.#ctx = open.ctx;
    this.#memory = open.memory;
    for (let id = open.sequences - 1; id >= 0; id--) this.#ids.push(id);
  }

  get free(): number {
    return this.ledger.free;
  }

  /** null: all ids are in use. */
  acquire(kind: SequenceKind): number | null {
    const seq = this.#ids.pop();
    if (seq === undefined) return null;
    this.ledger.open(seq, kind);
    return seq;
  }

  release(seq: number): void {
    this.#llama.seqRemove(this.#memory, seq, -1, -1);
    this.ledger.close(seq);
    this.#ids.push(seq);
  }

  /** Adds `to` to the first `tokens` cells of `block`, which `from` holds: no cells, no copy. */
  share(from: number, to: number, block: string, tokens: number): void {
    if (tokens === 0) return;
    this.#llama.seqCopy(this.#memory, from, to, 0, tokens);
    this.ledger.share(to, block, tokens);
  }

  truncate(seq: number, tokens: number): void {
    if (tokens >= this.ledger.length(seq)) return;
    this.#llama.seqRemove(this.#memory, seq, tokens, -1);
    this.ledger.truncate(seq, tokens);
  }

  /** Copies all cells of the sequence out. */
  save(seq: number): Uint8Array {
    const size = this.#llama.stateSize(this.#ctx, seq);
    const state = new Uint8Array(size);
    const written = this.#llama.stateGet(this.#ctx, state, size, seq);
    return written === size ? state : state.slice(0, written);
  }

  /** Copies the private cells out and releases the sequence; its shared cells stay with their other holders. */
  saveSuffixAndRelease(seq: number): Uint8Array {
    const shared = this.ledger.shared(seq);
    if (shared > 0) this.#llama.seqRemove(this.#memory, seq, 0, shared);
    const state = this.save(seq);
    this.release(seq);
    return state;
  }

  /** Puts saved cells into an empty sequence. False: refused, the sequence is still empty. Book the cells afterwards. */
  restore(seq: number, state: Uint8Array): boolean {
    return this.#llama.stateSet(this.#ctx, state, state.length, seq) > 0;
  }

  /** Restores a suffix and puts the shared cells of `from` below it. The books are right when it returns true. */
  restoreSuffix(seq: number, state: Uint8Array, own: number, from: number | null, block: string | null, shared: number): boolean {
    if (own > 0 && !this.restore(seq, state)) return false;
    if (from !== null && block !== null) this.share(from, seq, block, shared);
    if (own > 0) this.ledger.grow(seq, own);
    return true;
  }

  /** null, or where the books and the library differ. */
  check(): string | null {
    const wrong = this.ledger.check();
    if (wrong !== null) return wrong;
    for (const seq of this.ledger.ids()) {
      const length = this.ledger.length(seq);
      const max = this.#llama.seqPosMax(this.#memory, seq);
      const min = this.#llama.seqPosMin(this.#memory, seq);
      if (max !== length - 1 || min !== (length > 0 ? 0 : -1)) {
        return `sequence ${seq}: ${length} tokens booked, positions ${min}..${max} in the cache`;
      }
    }
    for (const seq of this.#ids) {
      if (this.#llama.seqPosMax(this.#memory, seq) !== -1) return `free sequence ${seq} is not empty`;
    }
    return null;
  }
}
