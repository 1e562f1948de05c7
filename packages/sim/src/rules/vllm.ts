import type { Call, CallSpec } from "../engine/call.ts";
import type { VirtualEngine } from "../engine/engine.ts";
import type { Machine } from "../engine/machine.ts";
import { SharedKv } from "../engine/shared-kv.ts";
import type { CopyChannel } from "../model/transfer.ts";
import type { StockOptions, VllmRules } from "./rules.ts";

/**
 * vLLM V1 (section 6.2; vllm/v1/core/sched/scheduler.py): mixed steps under one token budget, running calls first, no
 * reserve for output, preemption of the latest admitted, freed blocks keep their hash.
 */
export class VllmEngine implements VirtualEngine {
  readonly id: string;
  readonly machine: Machine;
  readonly kv: SharedKv;
  /** Head first; the front grows by preemptions. */
  waiting: Call[] = [];
  private readonly rules: VllmRules;
  /** In order of admission: decoding calls, then at most one with an unfinished prompt. */
  private readonly running: Call[] = [];
  private batch: { readonly call: Call; readonly tokens: number }[] = [];
  private stepping = false;
  /** The head that did not fit last time, and when that may be different. */
  private refused: { readonly call: Call | null; readonly version: number; readonly available: number } = {
    call: null,
    version: 0,
    available: 0,
  };

  constructor(id: string, machine: Machine, rules: VllmRules, options: StockOptions) {
    this.id = id;
    this.machine = machine;
    this.rules = rules;
    this.kv = new SharedKv(machine, { evictWholeNodes: false, refreshOnRelease: true, ...options });
  }

  get channel(): CopyChannel {
    return this.kv.channel;
  }

  submit(spec: CallSpec, atSeconds: number): Call {
    const call = this.machine.makeCall(spec, atSeconds);
    this.waiting.push(call);
    return call;
  }

  start(atSeconds: number): number | null {
    const { machine, kv } = this;
    machine.nowSeconds = atSeconds;
    machine.clearLoad();
    const preempted = this.scheduleRunning(atSeconds);
    if (!preempted) this.admitWaiting(atSeconds);
    if (this.running.length === 0 && kv.dropCopies(this.waiting, atSeconds)) this.admitWaiting(atSeconds);
    machine.addDecodes();
    if (machine.load.decodes === 0 && this.batch.length === 0) return null;
    this.stepping = true;
    return machine.start(atSeconds, machine.budgetTokens - kv.freeTokens());
  }

  end(atSeconds: number): void {
    const { machine, kv } = this;
    this.stepping = false;
    machine.nowSeconds = atSeconds;
    if (machine.load.decodes > 0) for (const call of machine.giveTokens(atSeconds, contextAtJoin)) this.finish(call, atSeconds);
    for (const { call, tokens } of this.batch) this.endPrefill(call, tokens, atSeconds);
    machine.end(atSeconds, kv.freeTokens(), kv.tree.deviceTokens, kv.channel.movedBytes);
    this.batch = [];
  }

  freeTokens(): number {
    return this.kv.freeTokens();
  }

  check(): string[] {
    const broken = this.kv.check(this.running, this.stepping, this.waiting);
    for (const call of this.waiting)
      if (this.running.includes(call) || call.phase !== "waiting") broken.push(`call ${call.spec.id} is in two states`);
    return broken;
  }

  /** Rule 6.2.1, first half, and 6.2.4. True: somebody was preempted. */
  private scheduleRunning(atSeconds: number): boolean {
    const { machine, kv, running } = this;
    const { decode, blockTokens } = machine;
    const partial = running.at(-1);
    const unfinished = partial !== undefined && partial.phase === "prefill" ? partial : null;
    const left = this.rules.batchTokens - decode.count;
    const chunk = unfinished === null ? 0 : Math.min(unfinished.target - unfinished.filled, left);
    const chunkCells = unfinished === null ? 0 : this.cellsFor(unfinished, chunk);
    const cells = decode.blocksDue() * blockTokens;
    if (cells + chunkCells <= kv.availableTokens()) {
      kv.take(cells + chunkCells);
      if (unfinished !== null && chunk > 0) this.addChunk(unfinished, chunk);
      return false;
    }
    return this.scheduleShort(atSeconds);
  }

  /** The same call by call, because somebody has to go. */
  private scheduleShort(atSeconds: number): boolean {
    const { machine, kv, running } = this;
    let budget = this.rules.batchTokens;
    for (let i = 0; i < running.length && budget > 0; i++) {
      const call = running[i]!;
      const decoding = call.phase === "decode";
      const tokens = decoding ? 1 : Math.min(call.target - call.filled, budget);
      const cells = decoding ? (machine.decode.needsBlock(call) ? machine.blockTokens : 0) : this.cellsFor(call, tokens);
      while (cells > kv.availableTokens()) {
        const victim = running.pop()!;
        this.preempt(victim, atSeconds);
        if (victim === call) return true;
      }
      kv.take(cells);
      if (!decoding) this.addChunk(call, tokens);
      budget -= tokens;
    }
    return true;
  }

  /** Rule 6.2.1, second half, and 6.2.2-3. */
  private admitWaiting(atSeconds: number): void {
    const { machine, kv, rules, running, waiting } = this;
    let budget = rules.batchTokens - machine.decode.count - machine.load.prefillTokens;
    const taken = new Set<Call>();
    for (const call of waiting) {
      if (budget <= 0 || running.length >= rules.maxSequences) break;
      if (
        call === this.refused.call &&
        kv.tree.version === this.refused.version &&
        kv.availableTokens() <= this.refused.available
      )
        break;
      const back = kv.bringBack(call, machine.roundDown(call.target - 1), atSeconds);
      if (back === "copying") continue;
      if (back === "noRoom") break;
      kv.adopt(call, machine.roundDown(call.target - 1));
      const tokens = Math.min(call.target - call.filled, budget);
      const cells = this.cellsFor(call, tokens);
      const asked = rules.reserveFullPrompt ? this.cellsFor(call, call.target - call.filled) : cells;
      if (asked > kv.availableTokens()) {
        kv.disown(call);
        this.refused = { call, version: kv.tree.version, available: kv.availableTokens() };
        break;
      }
      if (call.admittedSeconds < 0) {
        call.admittedSeconds = atSeconds;
        call.cachedTokens = call.filled;
      } else call.redoneTokens += call.target - call.filled;
      call.phase = "prefill";
      machine.admitted(call);
      kv.take(cells);
      running.push(call);
      this.addChunk(call, tokens);
      budget -= tokens;
      taken.add(call);
    }
    if (taken.size > 0) this.waiting = waiting.filter((call) => !taken.has(call));
  }

  /** Prompt blocks carry their hash from the moment they are scheduled. */
  private addChunk(call: Call, tokens: number): void {
    const { machine, kv } = this;
    machine.addChunk(tokens, call.filled);
    this.batch.push({ call, tokens });
    call.inFlight = tokens;
    kv.publish(call, machine.roundDown(call.filled + tokens));
  }

  private cellsFor(call: Call, tokens: number): number {
    const { machine } = this;
    return machine.roundUp(call.filled + tokens) - machine.roundUp(call.filled);
  }

  private endPrefill(call: Call, tokens: number, atSeconds: number): void {
    const { machine } = this;
    call.inFlight = 0;
    call.filled += tokens;
    if (call.filled < call.target) return;
    machine.prefillToken(call, atSeconds);
    if (call.generated >= call.outputTokens) this.finish(call, atSeconds);
    else machine.decode.join(call, call.filled, call.filled + 1);
  }

  private finish(call: Call, atSeconds: number): void {
    const { machine, kv, running } = this;
    running.splice(running.indexOf(call), 1);
    kv.release(call, call.filled, machine.roundDown(call.filled));
    machine.finish(call, atSeconds);
  }

  private preempt(call: Call, atSeconds: number): void {
    const { machine, kv } = this;
    if (call.phase === "decode") machine.decode.leave(call, contextAtJoin(call));
    const hashed = this.rules.freedKeepHash ? machine.roundDown(call.filled) : 0;
    if (this.rules.freedKeepHash) kv.release(call, call.filled, hashed);
    else this.forget(call);
    call.target = call.promptTokens + call.generated;
    call.filled = 0;
    call.phase = "waiting";
    machine.preempted(call);
    this.waiting.unshift(call);
    machine.listener.preempted(call, atSeconds);
  }

  /** Rule 6.2.5 off: what it computed is gone at once. */
  private forget(call: Call): void {
    const { kv } = this;
    const tokens = call.locked;
    kv.release(call, call.filled, 0);
    kv.tree.forgetTail(call.path, tokens);
  }
}

function contextAtJoin(call: Call): number {
  return call.heldAtJoin + 1;
}
