/**
 * Finds stop strings in a stream of bytes. Pieces may split a stop string or even one character, so bytes that could still become
 * a stop string are held back. Decided byte by byte: the result does not depend on where the pieces were cut.
 */
const NONE = new Uint8Array(0);

export class StopMatcher {
  readonly #stops: readonly Uint8Array[];
  #held: Uint8Array = NONE;

  /** Empty strings are ignored. */
  constructor(stops: readonly string[]) {
    const encoder = new TextEncoder();
    this.#stops = stops.filter((s) => s !== "").map((s) => encoder.encode(s));
  }

  /** `out`: bytes that are safe to stream; `matched`: a stop string was completed, nothing after it (nor itself) is in `out`. */
  push(piece: Uint8Array): { out: Uint8Array; matched: boolean } {
    if (this.#stops.length === 0) return { out: piece, matched: false };
    const text = this.#held.length === 0 ? piece : join(this.#held, piece);
    for (let end = this.#held.length + 1; end <= text.length; end++) {
      const length = this.#longestEndingAt(text, end);
      if (length > 0) {
        this.#held = NONE;
        return { out: text.subarray(0, end - length), matched: true };
      }
    }
    const keep = this.#heldLength(text);
    this.#held = text.slice(text.length - keep);
    return { out: text.subarray(0, text.length - keep), matched: false };
  }

  /** The call ended otherwise: what was held back is ordinary text. */
  flush(): Uint8Array {
    const out = this.#held;
    this.#held = NONE;
    return out;
  }

  #longestEndingAt(text: Uint8Array, end: number): number {
    let longest = 0;
    for (const stop of this.#stops) {
      if (stop.length > longest && stop.length <= end && same(text, end - stop.length, stop, stop.length)) longest = stop.length;
    }
    return longest;
  }

  /** Length of the longest end of `text` that is the beginning of a stop string. */
  #heldLength(text: Uint8Array): number {
    let keep = 0;
    for (const stop of this.#stops) {
      for (let n = Math.min(stop.length - 1, text.length); n > keep; n--) {
        if (same(text, text.length - n, stop, n)) {
          keep = n;
          break;
        }
      }
    }
    return keep;
  }
}

function same(text: Uint8Array, from: number, stop: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (text[from + i] !== stop[i]) return false;
  return true;
}

export function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
