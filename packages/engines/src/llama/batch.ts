/** The rows of one `llama_decode`, written straight into native arrays that live as long as the context. */
import type { BatchStruct, Handle, Llama } from "./ffi.ts";

export class RowBatch {
  readonly capacity: number;
  readonly struct: BatchStruct;
  readonly #llama: Llama;
  readonly #buffers: readonly Handle[];
  readonly #token: Int32Array;
  readonly #pos: Int32Array;
  readonly #seq: Int32Array;
  readonly #logits: Int8Array;

  /** Our own arrays instead of `llama_batch_init`: each row's list of sequences is one slot of one array. */
  constructor(llama: Llama, capacity: number) {
    this.capacity = capacity;
    this.#llama = llama;
    const make = (bytes: number): { at: Handle; view: ArrayBuffer } => {
      const at = llama.allocate(bytes);
      return { at, view: llama.view(at, bytes) };
    };
    const [token, pos, count, seq] = [make(4 * capacity), make(4 * capacity), make(4 * capacity), make(4 * capacity)];
    const [pointers, logits] = [make(8 * capacity), make(capacity)];
    new Int32Array(count.view).fill(1);
    const table = new BigUint64Array(pointers.view);
    for (let i = 0; i < capacity; i++) table[i] = seq.at + BigInt(4 * i);
    this.#token = new Int32Array(token.view);
    this.#pos = new Int32Array(pos.view);
    this.#seq = new Int32Array(seq.view);
    this.#logits = new Int8Array(logits.view);
    this.#buffers = [token.at, pos.at, count.at, seq.at, pointers.at, logits.at];
    this.struct = {
      n_tokens: 0,
      token: token.at,
      embd: null,
      pos: pos.at,
      n_seq_id: count.at,
      seq_id: pointers.at,
      logits: logits.at,
    };
  }

  get rows(): number {
    return this.struct.n_tokens;
  }

  clear(): void {
    this.struct.n_tokens = 0;
  }

  /** Appends a row and returns its index, by which logits are asked for. */
  add(token: number, position: number, seq: number, wantsLogits: boolean): number {
    const row = this.struct.n_tokens++;
    this.#token[row] = token;
    this.#pos[row] = position;
    this.#seq[row] = seq;
    this.#logits[row] = wantsLogits ? 1 : 0;
    return row;
  }

  free(): void {
    for (const at of this.#buffers) this.#llama.release(at);
  }
}
