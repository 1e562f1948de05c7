/** The live calls inside the child: how they come in, lose their cells, and end. */
import type { EntryId } from "@topas/core";
import type { HostTier } from "./host-tier.ts";
import type { Kv } from "./kv.ts";
import type { OpenModel } from "./model.ts";
import type { CallHandle, EndError, EndReason, FromChild, SubmitMessage } from "./protocol.ts";
import type { Request } from "./request.ts";
import { makeRequest, usageOf } from "./request.ts";
import type { Residency } from "./residency.ts";
import { makeChain, samplingProblem } from "./sampler.ts";

export interface CallTableParts {
  readonly open: OpenModel;
  readonly vocabularySize: number;
  readonly kv: Kv;
  readonly host: HostTier;
  readonly residency: Residency;
  readonly emit: (message: FromChild) => void;
  /** Does a `load` command wait for this entry? */
  readonly isCommanded: (entry: EntryId) => boolean;
}

export class CallTable {
  /** In order of admission. */
  readonly live = new Map<CallHandle, Request>();
  /** Only the oldest call's needs and running calls pin entries: set while nothing could run otherwise. */
  relaxed = false;
  readonly #parts: CallTableParts;
  #order = 0;

  constructor(parts: CallTableParts) {
    this.#parts = parts;
  }

  nextOrder(): number {
    return this.#order++;
  }

  submit(m: SubmitMessage): void {
    const { open, emit, vocabularySize: size } = this.#parts;
    const refusal = refusalOf(m, open.contextTokens, size);
    if (refusal === null) {
      this.live.set(m.call, makeRequest(m, this.nextOrder(), makeChain(open.llama, m.sampling)));
      return;
    }
    const usage = { promptTokens: m.tokens.length, cachedTokens: 0, completionTokens: 0, computedTokens: 0, redoneTokens: 0 };
    const error = { ...refusal, status: 400, retryable: false };
    emit({ ev: "end", call: m.call, reason: "refused", usage: { ...usage, retainedTokens: 0 }, error });
  }

  /** Ends a call, whatever its phase. Its KV stays as its session's entry when it finished and has a session. */
  finish(r: Request, reason: EndReason, error: EndError | null = null): void {
    const { open, kv, host, residency, emit } = this.#parts;
    this.live.delete(r.call);
    open.llama.samplerFree(r.chain);
    let retained = 0;
    if (r.phase === "active") {
      const own = kv.ledger.own(r.seq);
      if (r.session !== null && own > 0 && (reason === "stop" || reason === "length")) {
        retained = own;
        const prefix =
          r.prefix === null || r.shared === 0 ? null : { entry: r.prefix.entry, tokens: r.tokens.slice(0, r.prefix.tokens) };
        residency.keepSession(r.session, r.seq, r.tokens.slice(0, r.inKv), prefix);
      } else kv.release(r.seq);
    }
    if (r.saved !== null) host.unpin(r.saved.length);
    this.#passOnLoad(r);
    emit({ ev: "end", call: r.call, reason, usage: usageOf(r, retained), error });
  }

  /** Takes a call's cells away; it stays preempted until resumed. Without room on the host a swap becomes a recompute. */
  preempt(r: Request, keep: "swap" | "recompute", by: "us" | "engine"): { freed: number; bytes: number } {
    const { kv, host, emit } = this.#parts;
    let freed = 0;
    if (r.phase === "active") {
      freed = kv.ledger.gain(r.seq);
      if (keep === "swap" && kv.ledger.own(r.seq) > 0) {
        const state = kv.saveSuffixAndRelease(r.seq);
        const dropped = host.pin(state.length);
        for (const entry of dropped ?? []) emit({ ev: "hostDropped", entry });
        if (dropped !== null) r.saved = state;
      } else kv.release(r.seq);
      r.seq = -1;
    } else if (keep === "recompute" && r.saved !== null) {
      host.unpin(r.saved.length);
      r.saved = null;
    }
    if (r.saved === null) r.inKv = r.shared;
    r.phase = "preempted";
    this.#passOnLoad(r);
    const bytes = r.saved?.length ?? 0;
    emit({ ev: "preempted", call: r.call, by, keptTokens: r.inKv - r.shared, bytes });
    return { freed, bytes };
  }

  /** The oldest call that may run. */
  head(): Request | null {
    for (const r of this.live.values()) if (r.phase !== "preempted") return r;
    return null;
  }

  /** Entries that running and waiting calls need. */
  pins(): ReadonlySet<EntryId> {
    const pinned = new Set<EntryId>();
    const head = this.relaxed ? this.head() : null;
    for (const r of this.live.values()) {
      if (r.phase === "preempted" || (this.relaxed && r.phase === "waiting" && r !== head)) continue;
      if (r.prefix !== null) pinned.add(r.prefix.entry);
      if (r.session !== null && r.phase === "waiting") pinned.add(r.session);
    }
    return pinned;
  }

  /** Somebody else pays for the prefix that a leaving call was loading; with nobody waiting the load is dropped. */
  #passOnLoad(gone: Request): void {
    const { residency, isCommanded } = this.#parts;
    const id = gone.prefix?.entry;
    const entry = id === undefined ? undefined : residency.get(id);
    if (id === undefined || entry === undefined || entry.state !== "loading") return;
    let next: Request | null = null;
    for (const r of this.live.values()) if (r.phase === "waiting" && r !== gone && r.prefix?.entry === id) next ??= r;
    if (entry.owner === gone) entry.owner = next;
    if (next === null && !isCommanded(id)) residency.evict(id, false);
  }
}

function refusalOf(m: SubmitMessage, contextTokens: number, vocabulary: number): { code: string; message: string } | null {
  const say = (code: string, message: string): { code: string; message: string } => ({ code, message });
  const whole = m.tokens.length + m.maxTokens;
  if (m.tokens.length === 0 || !(m.maxTokens >= 1))
    return say("invalid_request", "a call needs a prompt and maxTokens of 1 or more");
  if (whole > contextTokens) return say("context_length_exceeded", `${whole} tokens can never fit ${contextTokens}`);
  if (m.tokens.some((t) => t < 0 || t >= vocabulary)) {
    return say("invalid_request", `a prompt token is outside the vocabulary of ${vocabulary}`);
  }
  if (m.prefix !== null && m.prefix.tokens > m.tokens.length)
    return say("invalid_request", "the prefix is longer than the prompt");
  const wrong = samplingProblem(m.sampling);
  return wrong === null ? null : say("invalid_request", wrong);
}
