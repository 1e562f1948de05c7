/** The entries that hold KV without a running call: shared prefixes and kept sessions. Loading, evicting, choosing whom to evict. */
import type { EntryId } from "@topas/core";
import type { HostTier, SavedKv } from "./host-tier.ts";
import type { Kv } from "./kv.ts";
import type { FromChild } from "./protocol.ts";
import type { Request } from "./request.ts";

export interface Entry {
  readonly id: EntryId;
  readonly seq: number;
  /** Ids of all its positions; while loading, of those it will have. */
  readonly tokens: Int32Array;
  /** Sessions: the prefix below the private cells. */
  readonly prefix: { readonly entry: EntryId; readonly tokens: Int32Array } | null;
  state: "resident" | "loading";
  lastUsed: number;
  /** Loading: place among the prefills, who pays, what was computed so far, rows in the step in flight. */
  readonly order: number;
  owner: Request | null;
  computed: number;
  readonly startedMs: number;
  rows: number;
}

export interface Evicted {
  readonly freed: number;
  readonly bytes: number;
  readonly ms: number;
}

export class Residency {
  readonly #kv: Kv;
  readonly #host: HostTier;
  readonly #emit: (message: FromChild) => void;
  readonly #entries = new Map<EntryId, Entry>();
  readonly #rank = new Map<EntryId, number>();
  #uses = 0;
  /** Entries that must stay: asked anew each time, since calls come and go. */
  pins: () => ReadonlySet<EntryId> = () => new Set();

  constructor(kv: Kv, host: HostTier, emit: (message: FromChild) => void) {
    this.#kv = kv;
    this.#host = host;
    this.#emit = emit;
  }

  get(id: EntryId): Entry | undefined {
    return this.#entries.get(id);
  }

  all(): IterableIterator<Entry> {
    return this.#entries.values();
  }

  touch(entry: Entry): void {
    entry.lastUsed = ++this.#uses;
  }

  rank(order: readonly EntryId[]): void {
    this.#rank.clear();
    for (const [i, id] of order.entries()) this.#rank.set(id, i);
  }

  /**
   * Makes a prefix resident or starts to: from a live holder of its cells, from the host, else by computing it in the coming steps.
   * null: no id or no room even after evicting (calls wait for less: a computed prefix takes its cells step by step).
   */
  startLoad(id: EntryId, tokens: Int32Array, order: number, owner: Request | null): Entry | null {
    const saved = this.#host.get(id);
    const holder = this.#kv.ledger.longestHolder(id);
    const missing = tokens.length - (holder?.tokens ?? 0);
    const fromHost = holder === null && saved !== undefined;
    if ((fromHost || owner === null) && !this.makeAllRoom(missing)) return null;
    const seq = this.acquire("prefix");
    if (seq === null) return null;
    const entry: Entry = {
      id,
      seq,
      tokens,
      prefix: null,
      state: "loading",
      lastUsed: ++this.#uses,
      order,
      owner,
      computed: 0,
      startedMs: performance.now(),
      rows: 0,
    };
    this.#entries.set(id, entry);
    // Evicting for the id may have released the holder: look again.
    const source = this.#kv.ledger.longestHolder(id);
    if (source !== null) this.#kv.share(source.seq, seq, id, source.tokens);
    else if (saved !== undefined && this.#kv.free >= tokens.length && this.#kv.restore(seq, saved.state)) {
      this.#host.touch(id);
      this.#kv.ledger.fill(seq, id, tokens.length);
      this.#resident(entry, saved.state.length);
      return entry;
    }
    if (this.#kv.ledger.length(seq) === tokens.length) this.#resident(entry, 0);
    return entry;
  }

  /** Rows of the last step belong to this loading prefix now. */
  filled(entry: Entry, rows: number): void {
    entry.computed += rows;
    const owner = entry.owner;
    if (owner !== null) {
      owner.computedTokens += rows;
      if (owner.placed) owner.redoneTokens += rows;
      else owner.chargedFill += rows;
    }
    if (this.#kv.ledger.length(entry.seq) === entry.tokens.length) this.#resident(entry, 0);
  }

  /** A finished call's sequence stays as the session's entry; an older one of that session goes. */
  keepSession(id: EntryId, seq: number, tokens: Int32Array, prefix: Entry["prefix"]): void {
    this.evict(id, false);
    this.#kv.ledger.become(seq, "session");
    this.#entries.set(id, {
      id,
      seq,
      tokens,
      prefix,
      state: "resident",
      lastUsed: ++this.#uses,
      order: 0,
      owner: null,
      computed: 0,
      startedMs: 0,
      rows: 0,
    });
  }

  /** The next call of the session continues in the entry's sequence. */
  takeSession(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.#kv.ledger.become(entry.seq, "request");
    this.taken(entry.id);
    this.dropHost(entry.id);
  }

  /** Tells that a session entry is now a call's own. */
  taken(id: EntryId): void {
    this.#emit({ ev: "taken", entry: id });
  }

  /**
   * A session from the host into a new request sequence. Its prefix must be resident already. null: no id, no room.
   * The caller owns the sequence (a call continues in it, or {@link keepSession}).
   */
  restoreSession(id: EntryId, saved: SavedKv): number | null {
    const started = performance.now();
    const own = saved.tokens.length - saved.shared;
    if (!this.makeAllRoom(own, saved.prefix?.entry)) return null;
    const seq = this.acquire("request", saved.prefix?.entry);
    if (seq === null) return null;
    const below = saved.prefix === null ? undefined : this.#entries.get(saved.prefix.entry);
    const block = below?.id ?? null;
    if (!this.#kv.restoreSuffix(seq, saved.state, own, below?.seq ?? null, block, saved.shared)) {
      this.#kv.release(seq);
      return null;
    }
    const ms = performance.now() - started;
    this.#emit({ ev: "loaded", entry: id, tokens: own, computedTokens: 0, bytes: saved.state.length, ms });
    return seq;
  }

  /** Removes an entry. Cells that others still hold stay with them. null: no such entry. A loading one is dropped without a copy. */
  evict(id: EntryId, keepHost: boolean): Evicted | null {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    const started = performance.now();
    const { seq } = entry;
    const freed = this.#kv.ledger.gain(seq);
    const tokens = id.startsWith("session:") ? this.#kv.ledger.own(seq) : entry.tokens.length;
    this.#entries.delete(id);
    if (entry.state === "loading") {
      this.#kv.release(seq);
      return { freed, bytes: 0, ms: performance.now() - started };
    }
    let bytes = 0;
    let kept = false;
    if (!keepHost || this.#host.capBytes === 0) {
      this.#kv.release(seq);
      this.#host.delete(id);
    } else if (this.#host.get(id) !== undefined) {
      this.#kv.release(seq);
      this.#host.touch(id);
      kept = true;
    } else {
      const shared = id.startsWith("session:") ? this.#kv.ledger.shared(seq) : 0;
      let state: Uint8Array;
      if (shared > 0) state = this.#kv.saveSuffixAndRelease(seq);
      else {
        state = this.#kv.save(seq);
        this.#kv.release(seq);
      }
      const dropped = this.#host.put(id, { state, shared, prefix: entry.prefix, tokens: entry.tokens });
      kept = dropped !== null;
      if (kept) bytes = state.length;
      for (const other of dropped ?? []) this.#emit({ ev: "hostDropped", entry: other });
    }
    const ms = performance.now() - started;
    this.#emit({ ev: "evicted", entry: id, tokens, keptOnHost: kept, bytes, ms });
    return { freed, bytes, ms };
  }

  dropHost(id: EntryId): boolean {
    if (!this.#host.delete(id)) return false;
    this.#emit({ ev: "hostDropped", entry: id });
    return true;
  }

  /** Evicts unpinned entries, worst first, until `cells` are free. False: there is nothing more to evict. */
  makeRoom(cells: number, spare?: EntryId): boolean {
    while (this.#kv.free < cells) {
      const victim = this.#victim((entry) => entry.id !== spare && this.#kv.ledger.gain(entry.seq) > 0);
      if (victim === null) return false;
      this.evict(victim, true);
    }
    return true;
  }

  /** The same, but evicts nothing when that would not be enough. */
  makeAllRoom(cells: number, spare?: EntryId): boolean {
    if (this.#kv.free >= cells) return true;
    const pinned = this.pins();
    const loose = new Set<number>();
    for (const entry of this.#entries.values()) if (!pinned.has(entry.id) && entry.id !== spare) loose.add(entry.seq);
    return this.#kv.ledger.freeWithout(loose) >= cells && this.makeRoom(cells, spare);
  }

  /** A sequence id, at the price of an unpinned entry if none is free. */
  acquire(kind: "prefix" | "request", spare?: EntryId): number | null {
    const seq = this.#kv.acquire(kind);
    if (seq !== null) return seq;
    const victim = this.#victim((entry) => entry.id !== spare);
    if (victim === null) return null;
    this.evict(victim, true);
    return this.#kv.acquire(kind);
  }

  /** Not named by `rank` first, least recently used first; then in rank order. */
  #victim(useful: (entry: Entry) => boolean): EntryId | null {
    const pinned = this.pins();
    let worst: Entry | null = null;
    const before = (a: Entry, b: Entry): boolean => {
      const [ra, rb] = [this.#rank.get(a.id) ?? -1, this.#rank.get(b.id) ?? -1];
      return ra !== rb ? ra < rb : a.lastUsed < b.lastUsed;
    };
    for (const entry of this.#entries.values()) {
      if (!pinned.has(entry.id) && useful(entry) && (worst === null || before(entry, worst))) worst = entry;
    }
    return worst?.id ?? null;
  }

  #resident(entry: Entry, bytes: number): void {
    entry.state = "resident";
    entry.owner = null;
    const ms = performance.now() - entry.startedMs;
    this.#emit({ ev: "loaded", entry: entry.id, tokens: entry.tokens.length, computedTokens: entry.computed, bytes, ms });
  }
}
