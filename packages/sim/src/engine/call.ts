import type { RadixNode, TokenPath } from "./radix-node.ts";

/** What a call looks like to an engine. Streams name content: equal names hold equal tokens from their start. */
export interface CallSpec {
  readonly id: string;
  /** The shared prefix first, then private streams; the last one grows with the output. */
  readonly segments: readonly { readonly stream: string; readonly tokens: number }[];
  readonly outputTokens: number;
  readonly maxTokens: number;
}

export type CallPhase = "waiting" | "swapIn" | "prefill" | "decode" | "done";

/** One call inside an engine. Progress of a decoding call is implied by the step counter of its decode set. */
export class Call {
  readonly spec: CallSpec;
  /** Order of submission. */
  readonly order: number;
  readonly path: TokenPath;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly maxTokens: number;
  readonly arrivedSeconds: number;
  phase: CallPhase = "waiting";
  /** Tokens generated, while not decoding. */
  generated = 0;
  /** Tokens to have in KV before decoding (re)starts: the prompt and what was generated before a preemption. */
  target: number;
  /** Tokens in KV, while not decoding. */
  filled = 0;
  /** Tokens allocated for the step in flight. */
  inFlight = 0;
  /** Tokens of its path that lie in the prefix cache under its lock. */
  locked = 0;
  node: RadixNode | null = null;
  /** Tokens of a prefix that the engine keeps as an entry of its own (joint rules); own tokens are counted without them. */
  sharedTokens = 0;
  /** End of the copy that brings its cached tokens back from the host, and what that copy protects meanwhile. */
  copiedSeconds = -1;
  copyNode: RadixNode | null = null;
  joinStep = 0;
  finishStep = 0;
  heldAtJoin = 0;
  epoch = 0;
  admittedSeconds = -1;
  firstTokenSeconds = -1;
  lastTokenSeconds = -1;
  finishedSeconds = -1;
  /** Prompt tokens found in the cache at first admission. */
  cachedTokens = 0;
  /** Tokens computed again after preemptions. */
  redoneTokens = 0;
  preemptions = 0;

  constructor(spec: CallSpec, order: number, path: TokenPath, arrivedSeconds: number) {
    this.spec = spec;
    this.order = order;
    this.path = path;
    this.promptTokens = spec.segments.reduce((sum, segment) => sum + segment.tokens, 0);
    this.outputTokens = spec.outputTokens;
    this.maxTokens = Math.max(spec.maxTokens, spec.outputTokens);
    this.target = this.promptTokens;
    this.arrivedSeconds = arrivedSeconds;
  }
}
