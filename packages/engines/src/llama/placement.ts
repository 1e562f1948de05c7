/** Gives waiting calls their sequence: continue a session, share a prefix, bring a swapped suffix back, or start from nothing. */
import type { EntryId } from "@topas/core";
import type { HostTier } from "./host-tier.ts";
import type { Kv } from "./kv.ts";
import type { Request } from "./request.ts";
import { commonTokens } from "./request.ts";
import type { Entry, Residency } from "./residency.ts";

/** wait: for its prefix, others may pass. blocked: no id or no room, nobody behind it may pass. mismatch: the prefix is not its prefix. */
export type Placement = "placed" | "wait" | "blocked" | "mismatch";

export class Placer {
  readonly #kv: Kv;
  readonly #host: HostTier;
  readonly #residency: Residency;

  constructor(kv: Kv, host: HostTier, residency: Residency) {
    this.#kv = kv;
    this.#host = host;
    this.#residency = residency;
  }

  place(r: Request): Placement {
    if (!r.placed && r.session !== null) {
      const done = this.#continueSession(r, r.session);
      if (done !== null) return done;
    }
    const prefix = this.#prefixFor(r);
    if (typeof prefix === "string") return prefix;
    const shared = r.placed ? r.shared : Math.min(r.prefix?.tokens ?? 0, r.promptTokens - 1);
    if (r.saved !== null) {
      const own = r.inKv - shared;
      if (!this.#residency.makeAllRoom(own, prefix?.id)) return "blocked";
      const seq = this.#residency.acquire("request", prefix?.id);
      if (seq === null) return "blocked";
      const state = r.saved;
      const back = this.#kv.restoreSuffix(seq, state, own, prefix?.seq ?? null, prefix?.id ?? null, shared);
      r.saved = null;
      this.#host.unpin(state.length);
      // Refused in spite of the books: compute it again.
      if (!back) this.#share(r, seq, prefix, shared);
      return this.#start(r, seq, shared, back ? r.inKv : shared);
    }
    const seq = this.#residency.acquire("request", prefix?.id);
    if (seq === null) return "blocked";
    this.#share(r, seq, prefix, shared);
    return this.#start(r, seq, shared, shared);
  }

  /** The resident prefix, null when the call has none, or why not yet. */
  #prefixFor(r: Request): Entry | null | Placement {
    if (r.prefix === null) return null;
    const { entry: id, tokens } = r.prefix;
    const entry = this.#residency.get(id) ?? this.#residency.startLoad(id, r.tokens.slice(0, tokens), r.order, r);
    if (entry === null) return "blocked";
    if (entry.tokens.length !== tokens || commonTokens(entry.tokens, r.tokens, tokens) < tokens) return "mismatch";
    return entry.state === "loading" ? "wait" : entry;
  }

  /** null: there is nothing to continue. */
  #continueSession(r: Request, session: EntryId): Placement | null {
    const entry = this.#residency.get(session);
    if (entry !== undefined && entry.state === "resident") {
      if (entry.prefix?.entry !== r.prefix?.entry) this.#residency.evict(session, false);
      else {
        this.#residency.takeSession(entry);
        return this.#continueIn(r, entry.seq, entry.tokens);
      }
    }
    const saved = this.#host.get(session);
    if (saved === undefined) return null;
    const same =
      saved.prefix?.entry === r.prefix?.entry && commonTokens(saved.tokens, r.tokens, r.promptTokens - 1) > saved.shared;
    if (!same) {
      this.#residency.dropHost(session);
      return null;
    }
    const prefix = this.#prefixFor(r);
    if (typeof prefix === "string") return prefix;
    const seq = this.#residency.restoreSession(session, saved);
    if (seq === null) return "blocked";
    this.#residency.dropHost(session);
    this.#residency.taken(session);
    return this.#continueIn(r, seq, saved.tokens);
  }

  #continueIn(r: Request, seq: number, tokens: Int32Array): Placement {
    const common = commonTokens(tokens, r.tokens, r.promptTokens - 1);
    this.#kv.truncate(seq, common);
    return this.#start(r, seq, this.#kv.ledger.shared(seq), common);
  }

  #share(r: Request, seq: number, prefix: Entry | null, shared: number): void {
    if (prefix === null) return;
    this.#kv.share(prefix.seq, seq, prefix.id, shared);
  }

  #start(r: Request, seq: number, shared: number, inKv: number): Placement {
    if (r.prefix !== null) {
      const entry = this.#residency.get(r.prefix.entry);
      if (entry !== undefined) this.#residency.touch(entry);
    }
    r.seq = seq;
    r.shared = shared;
    r.inKv = inKv;
    r.phase = "active";
    if (!r.placed) r.cachedTokens = Math.max(0, inKv - r.chargedFill);
    r.placed = true;
    r.highWater = Math.max(r.highWater, inKv);
    return "placed";
  }
}
