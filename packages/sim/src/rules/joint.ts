import type { EntryId, PreemptMode } from "@topas/core";
import type { Call, CallSpec } from "../engine/call.ts";
import type { VirtualEngine } from "../engine/engine.ts";
import type { Machine } from "../engine/machine.ts";
import { CopyChannel } from "../model/transfer.ts";
import { EntryStore, type KvEntry } from "./entries.ts";
import { checkJoint } from "./joint-check.ts";
import { JointCopies } from "./joint-copies.ts";
import { planPrefill, type PrefillPlan } from "./joint-plan.ts";
import type { JointEntry, JointListener, JointRules } from "./joint-types.ts";

/**
 * An engine without a will of its own: residency and admission are decided by a core policy and carried out here between
 * steps, in the order given. It only defends itself: short of cells it evicts in `keep` order, then preempts as told.
 */
export class JointEngine implements VirtualEngine {
  readonly id = "oracle";
  readonly machine: Machine;
  readonly store: EntryStore;
  readonly channel: CopyChannel;
  readonly running: Call[] = [];
  keep: readonly EntryId[] = [];
  readonly entryOf = new Map<Call, JointEntry>();
  readonly rules: JointRules;
  private readonly listener: JointListener;
  private readonly commands: ((atSeconds: number) => void)[] = [];
  private plan: PrefillPlan | null = null;
  private stepping = false;
  readonly copies: JointCopies;

  constructor(machine: Machine, rules: JointRules, listener: JointListener) {
    this.machine = machine;
    this.rules = rules;
    this.listener = listener;
    this.store = new EntryStore(machine);
    this.channel = new CopyChannel(machine.profile, rules.hostTier);
    this.copies = new JointCopies(machine, this.channel, (at, id, run) => listener.later(at, id, run));
  }

  /** Makes the call known; it runs when it is admitted. */
  submit(spec: CallSpec, atSeconds: number, entry: JointEntry = { prefix: null, session: null }): Call {
    const call = this.machine.makeCall(spec, atSeconds);
    call.sharedTokens = entry.prefix?.tokens ?? 0;
    call.target = call.promptTokens - call.sharedTokens;
    this.entryOf.set(call, entry);
    return call;
  }

  admit(call: Call, atSeconds: number): void {
    this.command(atSeconds, (at) => this.enter(call, at));
  }

  preempt(call: Call, mode: PreemptMode, atSeconds: number): void {
    this.command(atSeconds, (at) => {
      if (!this.running.includes(call)) return;
      const held = this.machine.decode.heldOf(call);
      if (mode === "swap" && call.phase === "swapIn" && call.inFlight === 0) this.stepBack(call, at);
      else if (mode === "swap" && this.rules.hostTier !== "none" && held > 0) this.swapOut(call, at);
      else {
        this.leave(call, mode === "redecode");
        this.listener.released(call, 0, at);
      }
    });
  }

  evict(id: EntryId, keepHost: boolean, atSeconds: number): void {
    this.command(atSeconds, (at) => {
      const entry = this.store.get(id);
      const kept = keepHost && this.store.host.has(id);
      if (entry !== undefined && entry.users === 0 && entry.phase === "resident") this.store.remove(entry);
      this.listener.evicted(id, kept, at);
    });
  }

  /** Copies an entry back from the host, once the admissions of the same decision have taken the sessions they continue. */
  loadFromHost(id: EntryId, atSeconds: number): void {
    this.command(atSeconds, (at) => {
      const tokens = this.store.host.get(id);
      if (this.store.get(id)?.phase === "resident") return this.listener.loaded(id, 0, at);
      if (tokens === undefined) return this.listener.loadFailed(id, at);
      if (this.store.entries.has(id)) return;
      this.copies.waiting.push(this.store.add(id, tokens, "copying"));
    });
  }

  start(atSeconds: number): number | null {
    const { machine } = this;
    machine.clearLoad();
    this.startCopies(atSeconds);
    for (let patient = false; ;) {
      const plan = patient ? NO_PREFILL : planPrefill(this);
      const decodes = plan.chunks.length === 0 || this.rules.mixed;
      const cells = plan.cells + (decodes ? machine.decode.blocksDue() * machine.blockTokens : 0);
      const short = cells - this.freeTokens();
      if (short > 0 && !this.evictIdle(short, atSeconds)) {
        if (this.copies.inFlight > 0 && patient) return null;
        if (this.copies.inFlight > 0) patient = true;
        else this.overflow(cells, atSeconds);
        continue;
      }
      if (short > 0) continue;
      if (decodes) machine.addDecodes();
      this.swapIn(plan.swapIns, atSeconds);
      if (plan.chunks.length === 0 && machine.load.decodes === 0) return null;
      this.begin(plan);
      if (decodes) machine.privateTokens += machine.decode.blocksDue() * machine.blockTokens;
      break;
    }
    this.stepping = true;
    return machine.start(atSeconds, machine.budgetTokens - this.freeTokens());
  }

  end(atSeconds: number): void {
    const { machine, plan } = this;
    const decodes = machine.load.decodes > 0;
    this.stepping = false;
    if (decodes) for (const call of machine.giveTokens(atSeconds, contextAtJoin)) this.finish(call, atSeconds);
    for (const { call, prefixTokens, ownTokens } of plan!.chunks) this.endPrefill(call, prefixTokens, ownTokens, atSeconds);
    this.plan = null;
    machine.end(atSeconds, this.freeTokens(), this.store.cells, this.channel.movedBytes);
    for (const command of this.commands.splice(0)) command(atSeconds);
  }

  freeTokens(): number {
    return this.machine.budgetTokens - this.store.cells - this.machine.privateTokens;
  }

  check(): string[] {
    return checkJoint(this, this.stepping && this.machine.load.decodes > 0);
  }

  /** Commands act between steps, in order. */
  private command(atSeconds: number, run: (atSeconds: number) => void): void {
    if (this.stepping || this.commands.length > 0) this.commands.push(run);
    else run(atSeconds);
  }

  private enter(call: Call, atSeconds: number): void {
    const { machine, store } = this;
    const { prefix, session } = this.entryOf.get(call)!;
    if (prefix !== null) {
      const entry = store.get(prefix.id) ?? store.add(prefix.id, prefix.tokens, "filling");
      if (entry.phase === "filling") entry.filler ??= call;
      else if (call.admittedSeconds < 0) call.cachedTokens = prefix.tokens;
      entry.users += 1;
    }
    const kept = session === null ? undefined : store.get(session.id);
    if (kept !== undefined && kept.phase === "resident") {
      if (call.filled === 0) {
        call.filled = Math.max(0, Math.min(session!.reusableTokens, kept.tokens, call.target));
        call.cachedTokens += call.filled;
        machine.privateTokens += machine.roundUp(call.filled);
      }
      store.remove(kept);
    }
    if (call.admittedSeconds < 0) call.admittedSeconds = atSeconds;
    else if (call.phase !== "swapIn") call.redoneTokens += call.target;
    if (call.phase !== "swapIn") call.phase = "prefill";
    machine.recorder.admitted += 1;
    this.running.push(call);
  }

  /** Begins the copies back of swapped calls; they run on when they are in. */
  private swapIn(calls: readonly Call[], atSeconds: number): void {
    for (const call of calls) {
      call.inFlight = call.filled;
      const epoch = ++call.epoch;
      this.copies.callIn(call, atSeconds, (at) => this.command(at, () => this.swappedIn(call, epoch)));
    }
  }

  private begin(plan: PrefillPlan): void {
    const { machine, store } = this;
    this.plan = plan;
    for (const { call, prefixTokens, ownTokens } of plan.chunks) {
      const entry = store.get(this.entryOf.get(call)!.prefix?.id ?? null);
      if (prefixTokens > 0) {
        machine.addChunk(prefixTokens, entry!.filled);
        if (ownTokens > 0) machine.load.chunks -= 1;
        store.resize(entry!, entry!.filled + prefixTokens);
      }
      if (ownTokens > 0) machine.addChunk(ownTokens, call.sharedTokens + call.filled);
      machine.privateTokens += machine.roundUp(call.filled + ownTokens) - machine.roundUp(call.filled);
      call.inFlight = ownTokens;
    }
  }

  private endPrefill(call: Call, prefixTokens: number, ownTokens: number, atSeconds: number): void {
    const { machine, store } = this;
    call.inFlight = 0;
    if (prefixTokens > 0) {
      const entry = store.get(this.entryOf.get(call)!.prefix!.id)!;
      entry.filled += prefixTokens;
      if (entry.filled >= entry.tokens) {
        this.becomeResident(entry, atSeconds);
        this.listener.loaded(entry.id, entry.tokens, atSeconds);
      }
    }
    call.filled += ownTokens;
    if (ownTokens === 0 || call.filled < call.target) return;
    machine.prefillToken(call, atSeconds);
    if (call.generated >= call.outputTokens) this.finish(call, atSeconds);
    else machine.decode.join(call, call.filled, call.sharedTokens + call.filled + 1);
  }

  private becomeResident(entry: KvEntry, atSeconds: number): void {
    entry.phase = "resident";
    entry.filler = null;
    if (this.rules.hostTier === "none" || this.store.touchHost(entry.id)) return;
    this.channel.copy(entry.tokens, "toHost", atSeconds);
    const capacity = this.rules.hostRatio * this.machine.budgetTokens;
    for (const id of this.store.keepOnHost(entry, capacity))
      if (!this.store.entries.has(id)) this.listener.hostDropped(id, atSeconds);
  }

  private finish(call: Call, atSeconds: number): void {
    this.running.splice(this.running.indexOf(call), 1);
    this.unpin(call);
    this.machine.privateTokens -= this.machine.roundUp(call.filled);
    this.machine.finish(call, atSeconds);
    this.entryOf.delete(call);
  }

  /** Keeps the KV of a call that has just finished as a session entry; said from within the listener's `finished`. */
  retain(call: Call, id: EntryId): void {
    const old = this.store.get(id);
    if (old !== undefined) this.store.remove(old);
    const entry = this.store.add(id, this.machine.roundUp(call.filled), "resident");
    this.store.resize(entry, entry.tokens);
  }

  private unpin(call: Call): void {
    const entry = this.store.get(this.entryOf.get(call)!.prefix?.id ?? null);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.filler === call) entry.filler = null;
    if (entry.users === 0 && entry.phase === "filling") this.store.remove(entry);
  }

  /** Out of the running set; everything private is freed. */
  private leave(call: Call, loseOutput: boolean): void {
    const { machine } = this;
    if (call.phase === "decode") machine.decode.leave(call, contextAtJoin(call));
    this.running.splice(this.running.indexOf(call), 1);
    this.unpin(call);
    if (call.phase === "swapIn" && call.inFlight > 0) this.copies.callTokens -= machine.roundUp(call.filled);
    if (call.phase !== "swapIn" || call.inFlight > 0) machine.privateTokens -= machine.roundUp(call.filled);
    if (loseOutput) call.generated = 0;
    call.target = call.promptTokens - call.sharedTokens + call.generated;
    call.filled = 0;
    call.inFlight = 0;
    call.phase = "waiting";
    call.epoch += 1;
    call.preemptions += 1;
    machine.recorder.preempted += 1;
  }

  private swapOut(call: Call, atSeconds: number): void {
    const { machine } = this;
    if (call.phase === "decode") machine.decode.leave(call, contextAtJoin(call));
    this.running.splice(this.running.indexOf(call), 1);
    this.unpin(call);
    const isCopied = call.phase === "swapIn";
    call.phase = "swapIn";
    call.inFlight = 0;
    call.epoch += 1;
    call.preemptions += 1;
    machine.recorder.preempted += 1;
    const cells = machine.roundUp(call.filled);
    this.copies.callOut(call, isCopied, atSeconds, (at) =>
      this.command(at, (done) => {
        this.copies.callGone(cells);
        this.listener.released(call, call.filled, done);
      }),
    );
  }

  /** Swapped out again before its copy in began: its KV is still on the host. */
  private stepBack(call: Call, atSeconds: number): void {
    this.running.splice(this.running.indexOf(call), 1);
    this.unpin(call);
    call.preemptions += 1;
    this.machine.recorder.preempted += 1;
    this.listener.released(call, call.filled, atSeconds);
  }

  private swappedIn(call: Call, epoch: number): void {
    if (call.epoch !== epoch) return;
    this.copies.callTokens -= this.machine.roundUp(call.filled);
    call.inFlight = 0;
    call.phase = "prefill";
    if (call.filled >= call.target) this.machine.decode.join(call, call.filled, call.sharedTokens + call.filled + 1);
  }

  /** Begins the copies that have room; the others wait for what is on its way out. */
  private startCopies(atSeconds: number): void {
    const { machine, store, copies } = this;
    for (const entry of copies.waiting.splice(0)) {
      const short = machine.roundUp(entry.tokens) - this.freeTokens();
      if (short > 0 && !this.evictIdle(short, atSeconds)) {
        copies.waiting.push(entry);
        continue;
      }
      store.resize(entry, entry.tokens);
      copies.entryIn(entry, atSeconds, (at) => {
        if (store.get(entry.id) !== entry) return;
        this.becomeResident(entry, at);
        this.listener.loaded(entry.id, 0, at);
      });
    }
  }

  /** Evicts what nobody uses in keep order; true when the shortage is covered. */
  private evictIdle(shortTokens: number, atSeconds: number): boolean {
    const { store } = this;
    const wanted = this.freeTokens() + shortTokens;
    const known = new Set(this.keep);
    for (const id of [...this.keep, ...[...store.entries.keys()].filter((other) => !known.has(other))]) {
      if (this.freeTokens() >= wanted) return true;
      const entry = store.get(id);
      if (entry === undefined || entry.users > 0 || entry.phase !== "resident") continue;
      store.remove(entry);
      this.listener.evicted(id, store.host.has(id), atSeconds);
    }
    return this.freeTokens() >= wanted;
  }

  /** Preempts as told, until `cells` are free. */
  private overflow(cells: number, atSeconds: number): void {
    const before = this.freeTokens();
    const victims = this.listener.overflow(cells - before, atSeconds).filter((call) => this.running.includes(call));
    if (victims.length === 0 && this.running.length > 1) victims.push(this.running.at(-1)!);
    if (victims.length === 0) throw new Error("out of KV cells and nobody can leave");
    for (const call of victims) {
      this.leave(call, false);
      this.machine.listener.preempted(call, atSeconds);
    }
  }
}

const NO_PREFILL: PrefillPlan = { chunks: [], swapIns: [], cells: 0 };

function contextAtJoin(call: Call): number {
  return call.sharedTokens + call.heldAtJoin + 1;
}
