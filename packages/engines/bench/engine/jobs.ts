/** What both sides are timed on. Token ids are ordinary words of every made model; whatever they are, the work is the same. */
export type Job =
  /** One prompt, computed in steps of {@link CHUNK} tokens. */
  | { readonly kind: "prefill"; readonly tokens: number }
  /** `batch` sequences with a short context, one row each in `steps` steps. */
  | { readonly kind: "decode"; readonly batch: number; readonly steps: number };

/** One timed run of consecutive steps, milliseconds. The first step only starts the clock: on our side it waits for its call. */
export interface Run {
  /** From the end of the step before to the end of this one. */
  readonly stepMs: readonly number[];
  /** The part of it inside `llama_decode`. */
  readonly insideMs: readonly number[];
}

export function countedSteps(job: Job): number {
  return job.kind === "prefill" ? Math.ceil(job.tokens / CHUNK) - 1 : job.steps;
}

export const CHUNK = 256;
export const CELLS = 4096;
/** Tokens before the first decode. */
export const DECODE_PROMPT = 32;

export function words(count: number, salt: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => 400 + ((i * 37 + salt * 101 + ((i * i) % 13)) % 600));
}
