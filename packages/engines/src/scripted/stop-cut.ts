/** Cuts output at stop strings. Works on bytes: a stop string may begin and end inside pieces. */
export class StopCut {
  readonly #stops: readonly Buffer[];
  readonly #emit: (token: number, piece: Uint8Array) => void;
  #held: { token: number; piece: Uint8Array }[] = [];

  constructor(stops: readonly string[], emit: (token: number, piece: Uint8Array) => void) {
    this.#stops = stops.filter((stop) => stop.length > 0).map((stop) => Buffer.from(stop, "utf8"));
    this.#emit = emit;
  }

  /** Passes on what cannot belong to a stop string. True: a stop string is complete; what follows it is dropped. */
  push(token: number, piece: Uint8Array): boolean {
    if (this.#stops.length === 0) {
      this.#emit(token, piece);
      return false;
    }
    this.#held.push({ token, piece });
    const text = Buffer.concat(this.#held.map((held) => held.piece));
    const found = this.#stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) {
      this.#release(Math.min(...found), true);
      return true;
    }
    this.#release(text.length - Math.max(...this.#stops.map((stop) => overlap(text, stop))), false);
    return false;
  }

  /** The output ended on its own: nothing was a stop string after all. */
  flush(): void {
    this.#release(Number.POSITIVE_INFINITY, false);
  }

  /** Emits whole pieces up to `bytes`; with `cut`, also the part of the piece that crosses it, and forgets the rest. */
  #release(bytes: number, cut: boolean): void {
    let left = bytes;
    while (this.#held[0] !== undefined && this.#held[0].piece.length <= left) {
      const { token, piece } = this.#held.shift()!;
      left -= piece.length;
      this.#emit(token, piece);
    }
    if (!cut) return;
    const crossing = this.#held[0];
    if (crossing !== undefined && left > 0) this.#emit(crossing.token, crossing.piece.subarray(0, left));
    this.#held = [];
  }
}

/** Length of the longest end of `text` that is a beginning of `stop`. */
function overlap(text: Buffer, stop: Buffer): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.subarray(text.length - length).equals(stop.subarray(0, length))) return length;
  }
  return 0;
}
