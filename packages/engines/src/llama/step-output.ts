/** Collects what one step produced into a single packed message, and decides which calls it ended. */
import type { CallHandle, EndReason, StepMessage } from "./protocol.ts";
import type { Request } from "./request.ts";
import { join } from "./stop.ts";
import type { Vocabulary } from "./text.ts";

const NOTHING = new Uint8Array(0);

export class StepOutput {
  readonly #vocabulary: Vocabulary;
  #calls: CallHandle[] = [];
  #tokens: number[] = [];
  #lengths: number[] = [];
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #prefilled: number[] = [];

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get vocabularySize(): number {
    return this.#vocabulary.size;
  }

  clear(): void {
    this.#calls = [];
    this.#tokens = [];
    this.#lengths = [];
    this.#pieces = [];
    this.#bytes = 0;
    this.#prefilled = [];
  }

  prefilled(call: CallHandle, tokens: number): void {
    this.#prefilled.push(call, tokens);
  }

  /** Adds a sampled token, its bytes held back or cut at stop strings. `full`: no further token may follow. Returns why the call ended. */
  token(r: Request, token: number, full: boolean): EndReason | null {
    const ends = !r.ignoreEos && this.#vocabulary.isEnd(token);
    const piece = ends ? NOTHING : this.#vocabulary.piece(token);
    const { out, matched } = r.stop.push(piece);
    const done = matched || ends || full;
    const bytes = done && !matched ? join(out, r.stop.flush()) : out;
    this.#calls.push(r.call);
    this.#tokens.push(token);
    this.#lengths.push(bytes.length);
    if (bytes.length > 0) this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (!done) return null;
    return matched || ends ? "stop" : "length";
  }

  message(n: number, ms: number, freeTokens: number): StepMessage {
    return {
      ev: "step",
      n,
      ms,
      freeTokens,
      calls: this.#calls,
      tokens: this.#tokens,
      lengths: this.#lengths,
      bytes: this.#bytes === 0 ? null : this.#concat(),
      prefilled: this.#prefilled,
    };
  }

  #concat(): Uint8Array {
    const all = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }
}
