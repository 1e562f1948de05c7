/** A decode step of one shape, or the mean of many. */
export interface DecodeSample {
  readonly sequences: number;
  /** Sum over the sequences of the tokens each one reads. */
  readonly contextTokens: number;
  /** Tokens in the cache, whoever holds them. */
  readonly residentTokens: number;
  /** Inside the engine. */
  readonly ms: number;
}

/** A prefill in one step or several, its parts summed. */
export interface PrefillSample {
  readonly steps: number;
  readonly tokens: number;
  /** Sum of n * (h + n/2) over its steps: n new tokens on h of history. */
  readonly work: number;
  /** Sum of n * tokens in the cache over its steps. */
  readonly besideTokens: number;
  readonly ms: number;
}

export interface CopySample {
  readonly bytes: number;
  readonly ms: number;
}

/** What a calibration of the embedded engine measured, or took from the engine bench. */
export interface CpuMeasurements {
  readonly decodes: readonly DecodeSample[];
  readonly prefills: readonly PrefillSample[];
  readonly saves: readonly CopySample[];
  readonly restores: readonly CopySample[];
  /** Wall time of a step outside the engine. */
  readonly hostMs: readonly number[];
}

export const NO_MEASUREMENTS: CpuMeasurements = { decodes: [], prefills: [], saves: [], restores: [], hostMs: [] };

export function together(all: readonly CpuMeasurements[]): CpuMeasurements {
  return {
    decodes: all.flatMap(({ decodes }) => decodes),
    prefills: all.flatMap(({ prefills }) => prefills),
    saves: all.flatMap(({ saves }) => saves),
    restores: all.flatMap(({ restores }) => restores),
    hostMs: all.flatMap(({ hostMs }) => hostMs),
  };
}

/** A prompt of `tokens` computed in steps of `chunk` on top of `history`, beside `others` tokens of other sequences. */
export function prefillShape(
  tokens: number,
  chunk: number,
  history = 0,
  others = 0,
): Pick<PrefillSample, "steps" | "tokens" | "work" | "besideTokens"> {
  let [work, besideTokens] = [0, 0];
  for (let done = 0; done < tokens; done += chunk) {
    const n = Math.min(chunk, tokens - done);
    work += n * (history + done + n / 2);
    besideTokens += n * (others + history + done + n);
  }
  return { steps: Math.ceil(tokens / chunk), tokens, work, besideTokens };
}
