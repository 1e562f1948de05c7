/** What the scripted engine knows, and the three moves its parts share: holding cells, leaving the device, telling listeners. */
import type { EntryId } from "@topas/core";
import type { EngineEvent } from "../engine.ts";
import { EngineError } from "../engine.ts";
import type { Job } from "./job.ts";
import { Ledger } from "./ledger.ts";

/** Bytes of one token's KV in events and outcomes: a round number, nothing is stored. */
export const SCRIPTED_KV_BYTES = 1_024;

/** Prefixes remembered for `load`; the oldest are forgotten. */
const KNOWN_LIMIT = 4_096;

export interface StateOptions {
  readonly kvTokens: number;
  readonly hostTokens: number;
  readonly maxRunning: number;
  readonly reserve: boolean;
}

export class ScriptedState {
  readonly options: StateOptions;
  readonly ledger: Ledger;
  readonly jobs = new Map<string, Job>();
  /** Calls that wait inside the engine, first to go first. */
  readonly queue: Job[] = [];
  /** Lengths of the prefixes it was shown, so that `load` can compute one nobody has asked for yet. */
  readonly known = new Map<EntryId, number>();
  /** Whom to evict first when it runs short. */
  order: readonly EntryId[] = [];
  /** Loads somebody waits for: told true when the entry is resident, false when it will not be. */
  readonly waits = new Map<EntryId, ((resident: boolean) => void)[]>();
  readonly listeners = new Set<(event: EngineEvent) => void>();

  constructor(options: StateOptions) {
    this.options = options;
    this.ledger = new Ledger(options.kvTokens, options.hostTokens);
  }

  remember(id: EntryId, tokens: number): void {
    this.known.delete(id);
    this.known.set(id, tokens);
    const oldest = this.known.keys().next().value;
    if (this.known.size > KNOWN_LIMIT && oldest !== undefined) this.known.delete(oldest);
  }

  running(): Job[] {
    return [...this.jobs.values()].filter((job) => job.state === "running");
  }

  /** Sets the private cells of a running call. */
  hold(job: Job, cells: number): void {
    job.cells = cells;
    job.mark = Math.max(job.mark, cells);
    this.ledger.hold(job.call.id, cells);
  }

  /** Takes a call off the device or out of the queue; its cells are free afterwards. */
  suspend(job: Job): void {
    const entry = job.state === "running" && job.prefix !== null ? this.ledger.prefixes.get(job.prefix) : undefined;
    if (entry !== undefined) entry.users -= 1;
    this.ledger.hold(job.call.id, 0);
    job.cells = 0;
    const at = this.queue.indexOf(job);
    if (at >= 0) this.queue.splice(at, 1);
  }

  whenResident(id: EntryId): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.waits.get(id);
      if (waiting === undefined) this.waits.set(id, [resolve]);
      else waiting.push(resolve);
    });
  }

  settle(id: EntryId, resident: boolean): void {
    const waiting = this.waits.get(id) ?? [];
    this.waits.delete(id);
    for (const resolve of waiting) resolve(resident);
  }

  /** The device lost everything. */
  reset(): void {
    this.ledger.reset();
    this.order = [];
    for (const id of this.waits.keys()) this.settle(id, false);
  }

  /** Evicts an idle entry, its copy going to or staying on the host when `keepHost` and there is room. Returns tokens freed and moved. */
  evict(id: EntryId, keepHost: boolean): { readonly tokens: number; readonly moved: number } {
    const { ledger } = this;
    const session = ledger.sessions.get(id);
    const tokens = session?.cells ?? ledger.prefixes.get(id)?.tokens ?? 0;
    const had = ledger.host.has(id);
    const copies = keepHost && !had && tokens <= ledger.hostFree();
    if (copies) ledger.host.set(id, session === undefined ? { kind: "prefix", tokens } : { kind: "session", session });
    if (!keepHost) ledger.host.delete(id);
    ledger.drop(id);
    const moved = copies ? tokens : 0;
    this.emit({ kind: "evicted", entry: id, tokens, keptOnHost: ledger.host.has(id), bytes: moved * SCRIPTED_KV_BYTES, ms: 0 });
    return { tokens, moved };
  }

  emit(event: EngineEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  /** @throws EngineError `invariant` when cells do not add up or a call holds what it should not. */
  check(): void {
    const { ledger } = this;
    ledger.check();
    const running = this.running();
    if (running.length > this.options.maxRunning) throw new EngineError("invariant", `${running.length} calls run`);
    for (const job of this.jobs.values()) {
      const cells = ledger.privates.get(job.call.id) ?? 0;
      if (cells !== (job.state === "running" ? job.cells : 0))
        throw new EngineError("invariant", `${job.call.id} holds ${cells} cells`);
    }
    for (const [id, entry] of ledger.prefixes) {
      if (entry.users !== running.filter((job) => job.prefix === id).length) throw new EngineError("invariant", `users of ${id}`);
    }
  }
}
