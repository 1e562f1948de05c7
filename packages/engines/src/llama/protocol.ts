/**
 * Messages between the parent (`engine.ts`) and the child (`child.ts`). Saved KV never crosses: only ids, tokens and byte counts do.
 * Every command but `submit` and `cancel` is answered by exactly one message carrying its `seq`; a `load` answers when it is resident
 * (or cannot be), the others as soon as the step in flight is over. Every submitted call gets exactly one `end`.
 */
import type { EntryId } from "@topas/core";
import type { CallUsage, Sampling } from "../engine.ts";

export type PrecisionMode = "fast" | "exact";

export interface OpenOptions {
  readonly modelPath: string;
  /** Wanted KV budget in tokens; llama.cpp rounds it up to a multiple of 256. */
  readonly kvTokens: number;
  /** Prefill rows a step at most. */
  readonly chunkTokens: number;
  /** Sequence ids for requests, prefixes and sessions together, at most 256. */
  readonly maxSequences: number;
  readonly mode: PrecisionMode;
  /** Layers on the accelerator; 0 = none, -1 = all. */
  readonly gpuLayers: number;
  readonly threads: number;
  /** Byte cap of saved KV; 0 = no host tier. */
  readonly hostTierBytes: number;
  /** Compare the books with the library after every step; a difference is fatal. */
  readonly checkEveryStep: boolean;
}

/** Parent's number of a call: short in messages, never reused in one child's life. */
export type CallHandle = number;

export interface SubmitMessage {
  readonly op: "submit";
  readonly call: CallHandle;
  readonly prefix: { readonly entry: EntryId; readonly tokens: number } | null;
  readonly session: EntryId | null;
  readonly tokens: Int32Array;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
}

export type Command =
  | { readonly op: "preempt"; readonly call: CallHandle; readonly keep: "swap" | "recompute" }
  | { readonly op: "resume"; readonly call: CallHandle }
  /** From the host tier if a copy exists, else computed from `tokens` (null: host only). */
  | { readonly op: "load"; readonly entry: EntryId; readonly tokens: Int32Array | null }
  | { readonly op: "evict"; readonly entry: EntryId; readonly keepHost: boolean }
  | { readonly op: "dropHost"; readonly entry: EntryId }
  | { readonly op: "rank"; readonly order: readonly EntryId[] };

export type ToChild =
  | { readonly op: "open"; readonly options: OpenOptions }
  | SubmitMessage
  | { readonly op: "cancel"; readonly call: CallHandle }
  | (Command & { readonly seq: number })
  | { readonly op: "tokenize"; readonly seq: number; readonly text: string; readonly special: boolean; readonly bos: boolean }
  | { readonly op: "inspect"; readonly seq: number }
  | { readonly op: "ping"; readonly seq: number }
  | { readonly op: "close" };

/** What the child learnt when it opened the model. Speeds come from a short warm-up; null when it failed. */
export interface ReadyMessage {
  readonly ev: "ready";
  readonly budgetTokens: number;
  readonly contextTokens: number;
  readonly kvBytesPerToken: number;
  readonly sequences: number;
  readonly version: string;
  readonly system: string;
  readonly package: string;
  readonly modelName: string;
  readonly modelDescription: string;
  readonly template: string | null;
  readonly bosPiece: string;
  readonly eosPiece: string;
  readonly addsBos: boolean;
  readonly speeds: {
    readonly prefillSecondsPerToken: number;
    readonly decodeSecondsPerToken: number;
    readonly copyBytesPerSecond: number;
  } | null;
}

/** All tokens of one step, packed: row i is `calls[i]`, `tokens[i]` and the next `lengths[i]` of `bytes` (already cut at stop strings). */
export interface StepMessage {
  readonly ev: "step";
  readonly n: number;
  readonly ms: number;
  readonly freeTokens: number;
  readonly calls: readonly CallHandle[];
  readonly tokens: readonly number[];
  readonly lengths: readonly number[];
  readonly bytes: Uint8Array | null;
  /** Pairs (call, prompt tokens computed in this step, its prefix included), flat. */
  readonly prefilled: readonly number[];
}

export type EndReason = "stop" | "length" | "cancelled" | "failed" | "refused";
export interface EndError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly retryable: boolean;
}

export interface Inspection {
  readonly cells: number;
  readonly free: number;
  readonly prefixCells: number;
  readonly sessionCells: number;
  readonly privateCells: number;
  readonly sequences: number;
  readonly live: number;
  readonly steps: number;
  /** Times the library contradicted our books, and times a call had to give way for lack of cells. */
  readonly defects: number;
  readonly overflows: number;
  readonly hostBytes: number;
  readonly entries: readonly { readonly entry: EntryId; readonly tokens: number; readonly state: "resident" | "loading" }[];
  readonly hostEntries: readonly EntryId[];
  /** null: the books agree with each other and with the library. */
  readonly problem: string | null;
}

export type Outcome = "enforced" | "unsupported" | "noRoom" | "unknownId";

export type FromChild =
  | ReadyMessage
  | { readonly ev: "openFailed"; readonly code: string; readonly message: string }
  | {
      readonly ev: "ack";
      readonly seq: number;
      readonly outcome: Outcome;
      readonly tokens: number;
      readonly bytes: number;
      readonly ms: number;
    }
  | { readonly ev: "tokenized"; readonly seq: number; readonly tokens: Int32Array }
  | { readonly ev: "inspected"; readonly seq: number; readonly state: Inspection }
  /** `stepMs`: how long the step in flight has run; 0 when none. */
  | { readonly ev: "pong"; readonly seq: number; readonly stepMs: number }
  | StepMessage
  | {
      readonly ev: "end";
      readonly call: CallHandle;
      readonly reason: EndReason;
      readonly usage: CallUsage;
      readonly error: EndError | null;
    }
  | {
      readonly ev: "loaded";
      readonly entry: EntryId;
      readonly tokens: number;
      readonly computedTokens: number;
      readonly bytes: number;
      readonly ms: number;
    }
  | {
      readonly ev: "evicted";
      readonly entry: EntryId;
      readonly tokens: number;
      readonly keptOnHost: boolean;
      readonly bytes: number;
      readonly ms: number;
    }
  | { readonly ev: "hostDropped" | "taken"; readonly entry: EntryId }
  | {
      readonly ev: "preempted";
      readonly call: CallHandle;
      readonly by: "us" | "engine";
      readonly keptTokens: number;
      readonly bytes: number;
    }
  | { readonly ev: "fatal"; readonly message: string };

/** One IPC message: everything since the last step boundary, in order. */
export type Envelope = readonly FromChild[];
