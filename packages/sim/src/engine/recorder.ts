import type { StepLoad } from "../model/step-time.ts";

/** What is kept of a run beside the calls themselves. */
export interface RecorderOptions {
  /** Every inter-token gap, as (seconds, how many). */
  readonly gaps: boolean;
  /** none; hash: one fingerprint of all steps; full: rows too. */
  readonly log: "none" | "hash" | "full";
}

export interface StepRow {
  readonly atSeconds: number;
  readonly seconds: number;
  readonly decodes: number;
  readonly prefillTokens: number;
  readonly chunks: number;
  readonly contextTokens: number;
  readonly freeTokens: number;
  readonly cachedTokens: number;
  readonly admitted: number;
  readonly preempted: number;
  readonly movedBytes: number;
  /** Shared prefixes that running calls need at the step's end, and their number. */
  readonly pinnedTokens: number;
  readonly pinnedPrefixes: number;
}

/** Counters, gaps between tokens, and a fingerprint of the step log. */
export class Recorder {
  steps = 0;
  decodeSteps = 0;
  requestSteps = 0;
  busySeconds = 0;
  prefillTokens = 0;
  admitted = 0;
  preempted = 0;
  peakBatch = 0;
  /** Time integral of the number of sequences in a step. */
  batchSeconds = 0;
  readonly gapSeconds: number[] = [];
  readonly gapCounts: number[] = [];
  readonly rows: StepRow[] = [];
  private readonly tokensInSecond: number[] = [];
  private readonly options: RecorderOptions;
  private readonly floats = new Float64Array(1);
  private readonly words = new Uint32Array(this.floats.buffer);
  private low = 0x811c9dc5 | 0;
  private high = 0x9747b28c | 0;
  private admittedBefore = 0;
  private preemptedBefore = 0;

  constructor(options: RecorderOptions) {
    this.options = options;
  }

  gap(seconds: number, count: number): void {
    if (!this.options.gaps || count === 0) return;
    this.gapSeconds.push(seconds);
    this.gapCounts.push(count);
  }

  /** Tokens that left the engine now; kept by the second where gaps are kept. */
  tokens(atSeconds: number, count: number): void {
    if (!this.options.gaps) return;
    const second = Math.floor(atSeconds);
    while (this.tokensInSecond.length <= second) this.tokensInSecond.push(0);
    this.tokensInSecond[second]! += count;
  }

  /** Most tokens in one second of the clock; 0 where gaps are not kept. */
  peakTokensPerSecond(): number {
    let most = 0;
    for (const tokens of this.tokensInSecond) most = Math.max(most, tokens);
    return most;
  }

  step(
    atSeconds: number,
    seconds: number,
    load: StepLoad,
    freeTokens: number,
    cachedTokens: number,
    movedBytes: number,
    pinnedTokens: number,
    pinnedPrefixes: number,
  ): void {
    const sequences = load.decodes + load.chunks;
    this.steps += 1;
    if (load.decodes > 0) this.decodeSteps += 1;
    this.requestSteps += sequences;
    this.busySeconds += seconds;
    this.prefillTokens += load.prefillTokens;
    this.batchSeconds += sequences * seconds;
    if (sequences > this.peakBatch) this.peakBatch = sequences;
    if (this.options.log === "none") return;
    const admitted = this.admitted - this.admittedBefore;
    const preempted = this.preempted - this.preemptedBefore;
    this.admittedBefore = this.admitted;
    this.preemptedBefore = this.preempted;
    for (const value of [
      atSeconds,
      seconds,
      load.decodes,
      load.prefillTokens,
      load.contextTokens,
      freeTokens,
      cachedTokens,
      admitted,
    ])
      this.mix(value);
    if (this.options.log !== "full") return;
    const { decodes, prefillTokens, chunks, contextTokens } = load;
    this.rows.push({
      atSeconds,
      seconds,
      decodes,
      prefillTokens,
      chunks,
      contextTokens,
      freeTokens,
      cachedTokens,
      admitted,
      preempted,
      movedBytes,
      pinnedTokens,
      pinnedPrefixes,
    });
  }

  /** Fingerprint of every step so far, 16 hex digits. */
  hash(): string {
    const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0");
    return hex(this.high) + hex(this.low);
  }

  private mix(value: number): void {
    this.floats[0] = value;
    this.low = Math.imul(this.low ^ this.words[0]!, 0x01000193) ^ (this.high >>> 13);
    this.high = Math.imul(this.high ^ this.words[1]!, 0x85ebca6b) ^ (this.low >>> 16);
  }
}
