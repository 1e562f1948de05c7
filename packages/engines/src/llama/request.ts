/** One call inside the child: what it has computed, what it holds, what it may still do. */
import type { EntryId } from "@topas/core";
import type { CallUsage } from "../engine.ts";
import type { Handle } from "./ffi.ts";
import type { CallHandle, SubmitMessage } from "./protocol.ts";
import { StopMatcher } from "./stop.ts";

export interface Request {
  readonly call: CallHandle;
  /** Admission number: the queue's order. */
  readonly order: number;
  readonly prefix: { readonly entry: EntryId; readonly tokens: number } | null;
  readonly session: EntryId | null;
  /** Prompt, then generated ids; `known` of them are valid. */
  readonly tokens: Int32Array;
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly ignoreEos: boolean;
  readonly chain: Handle;
  readonly stop: StopMatcher;
  /** waiting: for its prefix, an id or room. active: has a sequence. preempted: until told to resume. */
  phase: "waiting" | "active" | "preempted";
  /** -1 unless active. */
  seq: number;
  known: number;
  /** Tokens whose KV exists, in the sequence or (while swapped out) in `saved`. The next one is fed first. */
  inKv: number;
  generated: number;
  /** Leading tokens taken from the shared prefix. */
  shared: number;
  /** Suffix of a swapped-out call. */
  saved: Uint8Array | null;
  /** Has held KV before: the next placement is a resume. */
  placed: boolean;
  highWater: number;
  cachedTokens: number;
  computedTokens: number;
  redoneTokens: number;
  /** Tokens of its prefix computed on this call's account before it was placed. */
  chargedFill: number;
  /** Rows in the step being built or run, and the row to sample from (-1: none). */
  rows: number;
  sampleRow: number;
}

export function makeRequest(m: SubmitMessage, order: number, chain: Handle): Request {
  const tokens = new Int32Array(m.tokens.length + m.maxTokens);
  tokens.set(m.tokens);
  return {
    call: m.call,
    order,
    prefix: m.prefix,
    session: m.session,
    tokens,
    promptTokens: m.tokens.length,
    maxTokens: m.maxTokens,
    ignoreEos: m.sampling.ignoreEos,
    chain,
    stop: new StopMatcher(m.stop),
    phase: "waiting",
    seq: -1,
    known: m.tokens.length,
    inKv: 0,
    generated: 0,
    shared: 0,
    saved: null,
    placed: false,
    highWater: 0,
    cachedTokens: 0,
    computedTokens: 0,
    redoneTokens: 0,
    chargedFill: 0,
    rows: 0,
    sampleRow: -1,
  };
}

/** One row left to feed and something sampled already. */
export function isDecoding(r: Request): boolean {
  return r.generated > 0 && r.known - r.inKv === 1;
}

/** Books `rows` tokens computed for the call. Positions it had computed before are redone work. */
export function countRows(r: Request, rows: number): void {
  const end = r.inKv + rows;
  const redone = Math.max(0, Math.min(end, r.highWater) - r.inKv);
  const prompt = Math.max(0, Math.min(end, r.promptTokens) - r.inKv);
  const redonePrompt = Math.max(0, Math.min(end, r.highWater, r.promptTokens) - r.inKv);
  r.redoneTokens += redone;
  r.computedTokens += prompt + redone - redonePrompt;
  r.inKv = end;
  r.highWater = Math.max(r.highWater, end);
}

export function usageOf(r: Request, retainedTokens: number): CallUsage {
  return {
    promptTokens: r.promptTokens,
    cachedTokens: r.cachedTokens,
    completionTokens: r.generated,
    computedTokens: r.computedTokens,
    redoneTokens: r.redoneTokens,
    retainedTokens,
  };
}

/** Length of the common beginning of two token lists, at most `limit`. */
export function commonTokens(a: Int32Array, b: Int32Array, limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let n = 0;
  while (n < end && a[n] === b[n]) n++;
  return n;
}
