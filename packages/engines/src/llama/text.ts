/** Text to token ids and back, with the bytes of every piece kept once asked for. */
import type { OpenModel } from "./model.ts";

export class Vocabulary {
  readonly #open: OpenModel;
  readonly #pieces = new Map<number, Uint8Array>();
  readonly #ends = new Map<number, boolean>();
  readonly size: number;
  #out = new Int32Array(4096);

  constructor(open: OpenModel) {
    this.#open = open;
    this.size = open.llama.vocabSize(open.vocab);
  }

  get addsBos(): boolean {
    return this.#open.llama.addsBos(this.#open.vocab);
  }

  /** `special`: control tokens written in the text become control tokens. Only for text we wrote ourselves. */
  tokenize(text: string, special: boolean, bos: boolean): Int32Array {
    const { llama, vocab } = this.#open;
    const bytes = new TextEncoder().encode(text);
    // A pointer to no bytes would be NULL.
    const input = bytes.length > 0 ? bytes : new Uint8Array(1);
    let n = llama.tokenize(vocab, input, bytes.length, this.#out, this.#out.length, bos, special);
    if (n < 0) {
      this.#out = new Int32Array(-n);
      n = llama.tokenize(vocab, input, bytes.length, this.#out, this.#out.length, bos, special);
    }
    return this.#out.slice(0, Math.max(0, n));
  }

  /** Bytes as streamed: control tokens are empty. A piece may be part of a character. */
  piece(token: number): Uint8Array {
    let piece = this.#pieces.get(token);
    if (piece === undefined) this.#pieces.set(token, (piece = this.#read(token, false)));
    return piece;
  }

  isEnd(token: number): boolean {
    let end = this.#ends.get(token);
    if (end === undefined) this.#ends.set(token, (end = this.#open.llama.isEog(this.#open.vocab, token)));
    return end;
  }

  /** Text of the begin and end tokens, as chat templates want them; empty when the model has none. */
  controlPieces(): { bos: string; eos: string } {
    const { llama, vocab } = this.#open;
    const text = (token: number): string => (token < 0 ? "" : Buffer.from(this.#read(token, true)).toString("utf8"));
    return { bos: text(llama.bos(vocab)), eos: text(llama.eos(vocab)) };
  }

  #read(token: number, special: boolean): Uint8Array {
    const { llama, vocab } = this.#open;
    let out = new Uint8Array(64);
    let n = llama.piece(vocab, token, out, out.length, 0, special);
    if (n < 0) {
      out = new Uint8Array(-n);
      n = llama.piece(vocab, token, out, out.length, 0, special);
    }
    return out.slice(0, Math.max(0, n));
  }
}
