/** One call inside the scripted engine, and what its script may do to it. */
import type { EntryId } from "@topas/core";
import type { CallEnd, CallUsage, EngineCall, EngineSink } from "../engine.ts";
import { StopCut } from "./stop-cut.ts";
import { outputBase } from "./text.ts";

/** How one call behaves. Everything absent: it generates `maxTokens` tokens and ends with "length". */
export interface CallScript {
  /** The model stops by itself after this many tokens (unless the call ignores end-of-generation). */
  readonly tokens?: number;
  /** The call fails after this many tokens with `failure` (default code `scripted_failure`, status 500, not retryable). */
  readonly failAfter?: number;
  readonly failure?: { readonly code: string; readonly message: string; readonly status: number; readonly retryable: boolean };
  /** The call makes no progress after this many tokens until `release(id)`; 0: from the start. */
  readonly stallAfter?: number;
}

export class Job {
  readonly call: EngineCall;
  readonly sink: EngineSink;
  readonly script: CallScript;
  readonly tokens: Int32Array;
  readonly prefix: EntryId | null;
  readonly prefixTokens: number;
  readonly base: number;
  readonly output: number[] = [];
  readonly cut: StopCut;
  state: "queued" | "running" | "preempted" | "ended" = "queued";
  /** Private tokens in cells now. */
  cells = 0;
  /** Most private tokens that were ever in cells: computing below this mark is work done again. */
  mark = 0;
  cached: number | null = null;
  computed = 0;
  redone = 0;
  stalled = false;
  /** Its prefix was computed on its behalf. */
  paysPrefix = false;

  constructor(call: EngineCall, tokens: Int32Array, sink: EngineSink, script: CallScript) {
    this.call = call;
    this.sink = sink;
    this.script = script;
    this.tokens = tokens;
    this.prefix = call.prompt.prefix === null ? null : `prefix:${call.prompt.prefix.id}`;
    this.prefixTokens = call.prompt.prefix?.tokens ?? 0;
    this.base = outputBase(tokens, call.sampling.temperature > 0 ? call.sampling.seed : 0);
    this.cut = new StopCut(call.stop, (token, piece) => sink.token?.(token, piece));
    this.stalled = script.stallAfter === 0;
  }

  get session(): EntryId | null {
    return this.call.session === null ? null : `session:${this.call.session}`;
  }

  /** Private tokens that must be in cells before the next token can be decoded. */
  get target(): number {
    return this.tokens.length - this.prefixTokens + this.output.length;
  }

  /** Private cells at its end, if it runs to `maxTokens`. */
  get worst(): number {
    return this.tokens.length - this.prefixTokens + this.call.maxTokens;
  }

  usage(retainedTokens: number): CallUsage {
    return {
      promptTokens: this.tokens.length,
      cachedTokens: this.cached,
      completionTokens: this.output.length,
      computedTokens: this.computed,
      redoneTokens: this.redone,
      retainedTokens,
    };
  }

  /** The whole sequence so far. */
  sequence(): Int32Array {
    const all = new Int32Array(this.tokens.length + this.output.length);
    all.set(this.tokens);
    all.set(this.output, this.tokens.length);
    return all;
  }

  /** Why the call is over after the tokens it has, by script and limit; null: it goes on. */
  finished(): Pick<CallEnd, "reason" | "error"> | null {
    const { tokens, failAfter, failure } = this.script;
    if (failAfter !== undefined && this.output.length >= failAfter) {
      return {
        reason: "failed",
        error: failure ?? { code: "scripted_failure", message: "the script says so", status: 500, retryable: false },
      };
    }
    if (tokens !== undefined && !this.call.sampling.ignoreEos && this.output.length >= tokens) return { reason: "stop" };
    return this.output.length >= this.call.maxTokens ? { reason: "length" } : null;
  }
}
