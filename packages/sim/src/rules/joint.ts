import type { EntryId, PreemptMode } from "@topas/core";
import type { Call, CallSpec } from "../engine/call.ts";
import type { VirtualEngine } from "../engine/engine.ts";
import type { Machine } from "../engine/machine.ts";
import { CopyChannel } from "../model/transfer.ts";
import { EntryStore } from "./entries.ts";
import { checkJoint } from "./joint-check.ts";
import { JointCopies } from "./joint-copies.ts";
import { planPrefill, type PrefillPlan } from "./joint-plan.ts";
import { beginPrefill, endPrefill } from "./joint-prefill.ts";
import { evictIdle, overflow, startCopies } from "./joint-room.ts";
import { stepBack, swapIn, swapOut } from "./joint-swap.ts";
import { contextAtJoin, type JointEntry, type JointListener, type JointRules } from "./joint-types.ts";

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
  readonly listener: JointListener;
  readonly copies: JointCopies;
  private readonly commands: ((atSeconds: number) => void)[] = [];
  private plan: PrefillPlan | null = null;
  private stepping = false;

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
      if (mode === "swap" && call.phase === "swapIn" && call.inFlight === 0) stepBack(this, call, at);
      else if (mode === "swap" && this.rules.hostTier !== "none" && held > 0) swapOut(this, call, at);
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
    startCopies(this, atSeconds);
    for (let patient = false; ;) {
      const plan = patient ? NO_PREFILL : planPrefill(this);
      const decodes = plan.chunks.length === 0 || this.rules.mixed;
      const cells = plan.cells + (decodes ? machine.decode.blocksDue() * machine.blockTokens : 0);
      const short = cells - this.freeTokens();
      if (short > 0 && !evictIdle(this, short, atSeconds)) {
        if (this.copies.inFlight > 0 && patient) return null;
        if (this.copies.inFlight > 0) patient = true;
        else overflow(this, cells, atSeconds);
        continue;
      }
      if (short > 0) continue;
      if (decodes) machine.addDecodes();
      swapIn(this, plan.swapIns, atSeconds);
      if (plan.chunks.length === 0 && machine.load.decodes === 0) return null;
      this.plan = plan;
      beginPrefill(this, plan.chunks);
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
    for (const chunk of plan!.chunks) endPrefill(this, chunk, atSeconds);
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
  command(atSeconds: number, run: (atSeconds: number) => void): void {
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
    machine.admitted(call);
    this.running.push(call);
  }

  finish(call: Call, atSeconds: number): void {
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

  /** Its prefix has one user less. */
  unpin(call: Call): void {
    const entry = this.store.get(this.entryOf.get(call)!.prefix?.id ?? null);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.filler === call) entry.filler = null;
    if (entry.users === 0 && entry.phase === "filling") this.store.remove(entry);
  }

  /** Out of the running set; everything private is freed. */
  leave(call: Call, loseOutput: boolean): void {
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
    machine.preempted(call);
  }
}

const NO_PREFILL: PrefillPlan = { chunks: [], swapIns: [], cells: 0 };
