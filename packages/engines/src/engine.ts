/**
 * The one interface between the scheduler and whatever computes tokens. Nine members, one contract suite
 * (`engine.contract.ts`) that every implementation runs. Push sinks instead of async iterators: docs/decisions/0002.
 */
import type { EntryId } from "@topas/core";

export interface Engine {
  /** Resolves when the engine can take calls. Rejects with an {@link EngineError}. */
  start(): Promise<EngineDescription>;
  /** What the engine can hold and obey. Valid after `start`; changes are announced by a `ready` event. */
  describe(): EngineDescription;
  /** Renders and counts a prompt exactly as `submit` would compute it, and finds its shareable prefix. */
  prepare(prompt: PromptInput): Promise<PreparedPrompt>;
  /** Starts a call. The sink gets exactly one `end`, whatever happens; an unknown failure is an `end` with reason `failed`. */
  submit(call: EngineCall, sink: EngineSink): void;
  /** Ends a submitted, queued or preempted call with `end {reason: "cancelled"}`. Unknown ids are ignored. */
  cancel(id: string): void;
  /** Sink backpressure for `raw` engines: resume after a `raw()` that returned false. No-op elsewhere. */
  resume(id: string): void;
  /** Residency and preemption, in order; one outcome per command. Never throws for an outcome. */
  apply(commands: readonly EngineCommand[]): Promise<readonly CommandOutcome[]>;
  /** Steps, residency and health as observed. Returns the unsubscribe function. */
  subscribe(listener: (event: EngineEvent) => void): () => void;
  /** Cancels everything, frees the engine. Idempotent. */
  close(): Promise<void>;
}

/** How far a command is obeyed (engines report per capability; no experiment credits what was not enforced or observed). */
export type Fidelity = "enforced" | "biased" | "observed-only" | "unsupported";

export interface EngineDescription {
  readonly engine: "llama" | "scripted" | "openai";
  readonly version: string | null;
  readonly model: string;
  /** "tokens": sinks get `token`; "raw": sinks get `head` and `raw` bytes of an OpenAI-compatible response. */
  readonly wire: "tokens" | "raw";
  /** KV budget B in tokens; null: unknown (the scheduler then counts requests only). */
  readonly kvBudgetTokens: number | null;
  readonly blockTokens: number;
  readonly maxRunning: number | null;
  readonly contextTokens: number | null;
  readonly kvBytesPerToken: number | null;
  /** Reference speeds for estimates, seconds and bytes per second. */
  readonly prefillSecondsPerToken: number;
  readonly decodeSecondsPerToken: number;
  readonly copyBytesPerSecond: number;
  readonly hostTier: boolean;
  readonly keep: Fidelity;
  readonly load: Fidelity;
  readonly evict: Fidelity;
  readonly preempt: Fidelity;
  /** What a preempted request loses. */
  readonly redo: "swap" | "reprefill" | "redecode" | "unknown";
  readonly residencySource: "own-books" | "cached-tokens" | "none";
  /** Free text for manifests: build, CPU features, precision mode, whether weights are made. */
  readonly notes: readonly string[];
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

export type PromptInput =
  | {
      readonly kind: "chat";
      readonly tenant: string;
      readonly messages: readonly ChatMessage[];
      readonly tools?: readonly unknown[];
      /** Engines that serve several models: the one this call names. Part of the prefix identity there; ignored elsewhere. */
      readonly model?: string;
    }
  /** `prefixTokens`: leading tokens (BOS included) the client says are the agent's prefix; 0 or absent: none. */
  | {
      readonly kind: "text";
      readonly tenant: string;
      readonly prompt: string | readonly number[];
      readonly prefixTokens?: number;
      readonly model?: string;
    };

export interface PreparedPrompt {
  /** Exact prompt tokens of the whole prompt, or null when the engine counts them itself. */
  readonly tokens: Int32Array | null;
  readonly promptTokens: number;
  /** False: `promptTokens` is an estimate (bytes / 4). */
  readonly exact: boolean;
  /** `id` = hash of (tenant, model, prefix tokens): the same bytes under another tenant get another id. */
  readonly prefix: { readonly id: string; readonly tokens: number } | null;
}

export interface Sampling {
  /** 0 = greedy. */
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  /** null: drawn by the caller; 0xFFFFFFFF is refused. */
  readonly seed: number;
  /** Generate exactly maxTokens, ignoring end-of-generation tokens. */
  readonly ignoreEos: boolean;
}

export interface EngineCall {
  readonly id: string;
  readonly prompt: PreparedPrompt;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
  /** Keep the private KV after the call under this session id and continue from it if it extends. null: drop it. */
  readonly session: string | null;
  /** What a `raw` engine forwards. */
  readonly http: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array } | null;
}

export interface EngineSink {
  /** Raw engines: the upstream's status and headers, before any `raw`. */
  head?(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /** Raw engines: bytes exactly as received. Return false to pause the upstream until `engine.resume(id)`. */
  raw?(chunk: Uint8Array): boolean;
  /** Token engines: the piece's bytes (may split a character), already cut at stop strings. */
  token?(token: number, piece: Uint8Array): void;
  end(end: CallEnd): void;
}

export interface CallEnd {
  readonly reason: "stop" | "length" | "cancelled" | "failed" | "refused";
  readonly usage: CallUsage;
  readonly error?: { readonly code: string; readonly message: string; readonly status: number; readonly retryable: boolean };
}

export interface CallUsage {
  readonly promptTokens: number | null;
  /** Prompt tokens found in KV at first admission; null = the engine does not say. Never invented. */
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
  /** Prompt tokens prefilled for this call, redone work included. */
  readonly computedTokens: number | null;
  /** Tokens prefilled or decoded a second time because of preemption. */
  readonly redoneTokens: number | null;
  /** Private tokens now kept as the call's session entry. */
  readonly retainedTokens: number;
}

/** Of a call of which nothing is known, or that never ran. */
export const NO_USAGE: CallUsage = {
  promptTokens: null,
  cachedTokens: null,
  completionTokens: null,
  computedTokens: null,
  redoneTokens: null,
  retainedTokens: 0,
};

export type EngineCommand =
  | { readonly op: "preempt"; readonly id: string; readonly keep: "swap" | "recompute" }
  | { readonly op: "resume"; readonly id: string }
  | { readonly op: "evict"; readonly entry: EntryId; readonly keepHost: boolean }
  | { readonly op: "load"; readonly entry: EntryId }
  | { readonly op: "dropHost"; readonly entry: EntryId }
  /** Ascending value: whom to evict first when the engine itself runs short. Entries not named go before named ones. */
  | { readonly op: "rank"; readonly order: readonly EntryId[] };

export interface CommandOutcome {
  readonly outcome: Fidelity | "noRoom" | "unknownId";
  readonly tokens: number;
  readonly bytes: number;
  readonly ms: number;
}

export type EngineEvent =
  | {
      readonly kind: "step";
      readonly ms: number;
      readonly freeTokens: number;
      /** `prefilled`: the call's own prompt tokens; a prefix that was filled for it is reported by `loaded`. */
      readonly deltas: readonly { readonly request: string; readonly prefilled: number; readonly decoded: number }[];
    }
  | {
      readonly kind: "loaded";
      readonly entry: EntryId;
      readonly tokens: number;
      readonly computedTokens: number;
      readonly bytes: number;
      readonly ms: number;
    }
  | {
      readonly kind: "evicted";
      readonly entry: EntryId;
      readonly tokens: number;
      readonly keptOnHost: boolean;
      readonly bytes: number;
      readonly ms: number;
    }
  | { readonly kind: "hostDropped"; readonly entry: EntryId }
  /** A call continues in this session entry: its cells are the call's own now, what the prompt does not extend is free. */
  | { readonly kind: "taken"; readonly entry: EntryId }
  /** by "us": our command carried out. by "engine": the engine ran short (our books were wrong; counted as a defect). */
  | {
      readonly kind: "preempted";
      readonly request: string;
      readonly by: "us" | "engine";
      readonly keptTokens: number;
      readonly bytes: number;
    }
  | { readonly kind: "lost"; readonly message: string }
  | { readonly kind: "ready"; readonly description: EngineDescription };

/** Failures to start or to use an engine. `instanceof` is unreliable across package copies: use {@link EngineError.isInstance}. */
export class EngineError extends Error {
  readonly marker = Symbol.for("topas.EngineError");
  readonly code: string;
  readonly status: number;
  constructor(code: string, message: string, status = 500, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EngineError";
    this.code = code;
    this.status = status;
  }
  static isInstance(error: unknown): error is EngineError {
    return (
      typeof error === "object" && error !== null && (error as { marker?: unknown }).marker === Symbol.for("topas.EngineError")
    );
  }
}
