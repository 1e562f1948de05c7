/**
 * Who holds which KV cells. The library does not tell how many cells are free, so we count: cells of a shared prefix once, private
 * cells per sequence. `free + prefix + session + private = cells` after every change; {@link Ledger.check} proves it.
 */
export type SequenceKind = "prefix" | "session" | "request";

interface Sequence {
  kind: SequenceKind;
  /** Id of the shared block at positions 0..shared-1; null when nothing is shared. */
  block: string | null;
  shared: number;
  /** Cells only this sequence holds, at the positions after `shared`. */
  own: number;
}

export interface LedgerTotals {
  readonly free: number;
  readonly prefix: number;
  readonly session: number;
  readonly private: number;
}

export class Ledger {
  readonly cells: number;
  readonly #sequences = new Map<number, Sequence>();
  /** Holders of each shared block and how many of its leading cells each holds: the longest one keeps the cells alive. */
  readonly #blocks = new Map<string, Map<number, number>>();
  #prefix = 0;
  #session = 0;
  #private = 0;

  constructor(cells: number) {
    this.cells = cells;
  }

  get free(): number {
    return this.cells - this.#prefix - this.#session - this.#private;
  }

  get sequences(): number {
    return this.#sequences.size;
  }

  totals(): LedgerTotals {
    return { free: this.free, prefix: this.#prefix, session: this.#session, private: this.#private };
  }

  ids(): IterableIterator<number> {
    return this.#sequences.keys();
  }

  open(seq: number, kind: SequenceKind): void {
    if (this.#sequences.has(seq)) throw new Error(`sequence ${seq} is open already`);
    this.#sequences.set(seq, { kind, block: null, shared: 0, own: 0 });
  }

  /** Adds an empty sequence to the first `tokens` cells of a block (a `seq_cp`): costs no cells. */
  share(seq: number, block: string, tokens: number): void {
    const s = this.#get(seq);
    if (s.block !== null || s.shared > 0) throw new Error(`sequence ${seq} shares a block already`);
    if (tokens > this.blockCells(block)) throw new Error(`block ${block} has fewer than ${tokens} cells`);
    if (tokens === 0) return;
    s.block = block;
    s.shared = tokens;
    this.#hold(block, seq, tokens);
  }

  /** The next `tokens` cells of a prefix being filled: they belong to its block. */
  fill(seq: number, block: string, tokens: number): void {
    const s = this.#get(seq);
    if (s.kind !== "prefix" || s.own > 0 || (s.block !== null && s.block !== block))
      throw new Error(`sequence ${seq} cannot fill ${block}`);
    s.block = block;
    s.shared += tokens;
    this.#hold(block, seq, s.shared);
  }

  /** Private cells at the end of the sequence. */
  grow(seq: number, tokens: number): void {
    const s = this.#get(seq);
    if (s.kind === "prefix") throw new Error(`prefix sequence ${seq} has no private cells`);
    s.own += tokens;
    this.#count(s.kind, tokens);
  }

  /** Keeps the first `tokens` positions (a `seq_rm` of the rest). */
  truncate(seq: number, tokens: number): void {
    const s = this.#get(seq);
    const own = Math.max(0, tokens - s.shared);
    if (own < s.own) {
      this.#count(s.kind, own - s.own);
      s.own = own;
    }
    if (tokens < s.shared && s.block !== null) {
      this.#hold(s.block, seq, tokens);
      s.shared = tokens;
      if (tokens === 0) s.block = null;
    }
  }

  close(seq: number): void {
    this.truncate(seq, 0);
    this.#sequences.delete(seq);
  }

  /** A finished request becomes a session entry, and back. */
  become(seq: number, kind: "session" | "request"): void {
    const s = this.#get(seq);
    this.#count(s.kind, -s.own);
    s.kind = kind;
    this.#count(kind, s.own);
  }

  length(seq: number): number {
    const s = this.#get(seq);
    return s.shared + s.own;
  }

  own(seq: number): number {
    return this.#get(seq).own;
  }

  shared(seq: number): number {
    return this.#get(seq).shared;
  }

  /** Cells the block occupies now, held by whomever. */
  blockCells(block: string): number {
    let most = 0;
    for (const tokens of this.#blocks.get(block)?.values() ?? []) if (tokens > most) most = tokens;
    return most;
  }

  /** The sequence that holds most of the block: a lost prefix entry can be taken back from it for nothing. */
  longestHolder(block: string): { seq: number; tokens: number } | null {
    let best: { seq: number; tokens: number } | null = null;
    for (const [seq, tokens] of this.#blocks.get(block) ?? []) if (best === null || tokens > best.tokens) best = { seq, tokens };
    return best;
  }

  /** Cells that closing the sequence would free. */
  gain(seq: number): number {
    const s = this.#get(seq);
    if (s.block === null) return s.own;
    let others = 0;
    for (const [other, tokens] of this.#blocks.get(s.block) ?? []) if (other !== seq && tokens > others) others = tokens;
    return s.own + Math.max(0, s.shared - others);
  }

  /** Free cells if these sequences were closed. */
  freeWithout(closed: ReadonlySet<number>): number {
    let used = 0;
    for (const [seq, s] of this.#sequences) if (!closed.has(seq)) used += s.own;
    for (const holders of this.#blocks.values()) {
      let most = 0;
      for (const [seq, tokens] of holders) if (!closed.has(seq) && tokens > most) most = tokens;
      used += most;
    }
    return this.cells - used;
  }

  /** null, or what does not add up: recounted from nothing. */
  check(): string | null {
    const sum = { prefix: 0, session: 0, request: 0 };
    for (const [seq, s] of this.#sequences) {
      if (s.own < 0 || s.shared < 0 || s.shared > 0 !== (s.block !== null)) return `sequence ${seq} is malformed`;
      if (s.block !== null && this.#blocks.get(s.block)?.get(seq) !== s.shared)
        return `sequence ${seq} is not a holder of ${s.block}`;
      sum[s.kind] += s.own;
    }
    for (const [block, holders] of this.#blocks) {
      if (holders.size === 0) return `block ${block} has no holder`;
      for (const seq of holders.keys()) if (!this.#sequences.has(seq)) return `block ${block} is held by closed sequence ${seq}`;
      sum.prefix += this.blockCells(block);
    }
    if (sum.prefix !== this.#prefix || sum.session !== this.#session || sum.request !== this.#private) {
      return `counted ${JSON.stringify(sum)}, booked ${JSON.stringify(this.totals())}`;
    }
    return this.free < 0 ? `${-this.free} cells more than there are` : null;
  }

  #get(seq: number): Sequence {
    const s = this.#sequences.get(seq);
    if (s === undefined) throw new Error(`sequence ${seq} is not open`);
    return s;
  }

  #count(kind: SequenceKind, tokens: number): void {
    if (kind === "session") this.#session += tokens;
    else this.#private += tokens;
  }

  #hold(block: string, seq: number, tokens: number): void {
    const before = this.blockCells(block);
    let holders = this.#blocks.get(block);
    if (holders === undefined) this.#blocks.set(block, (holders = new Map()));
    if (tokens > 0) holders.set(seq, tokens);
    else holders.delete(seq);
    this.#prefix += this.blockCells(block) - before;
    if (holders.size === 0) this.#blocks.delete(block);
  }
}
