import type { Call, CallSpec } from "../engine/call.ts";
import type { VirtualEngine } from "../engine/engine.ts";
import type { Machine } from "../engine/machine.ts";
import { SharedKv } from "../engine/shared-kv.ts";
import type { CopyChannel } from "../model/transfer.ts";
import { sortLpm } from "./lpm.ts";
import type { SglangRules, StockOptions } from "./rules.ts";

const CLIP_TOKENS = 4_096;
const RETRACT_STEPS = 20;
const RATIO_START = 0.7;
const RATIO_END = 0.7 * 0.14;
const RATIO_STEPS = 600;

/**
 * SGLang 0.5.x (section 6.1; managers/schedule_policy.py, scheduler.py, schedule_batch.py): prefill first and not mixed,
 * admission reserve with a decaying ratio, head of line, retraction of the least generated, radix cache.
 */
export class SglangEngine implements VirtualEngine {
  readonly id = "sglang-0.5.x";
  readonly machine: Machine;
  readonly kv: SharedKv;
  waiting: Call[] = [];
  private readonly rules: SglangRules;
  private batch: { readonly call: Call; readonly tokens: number }[] = [];
  private chunked: Call | null = null;
  private batchFull = false;
  private stepping: "none" | "prefill" | "decode" = "none";
  private ratio: number;

  constructor(machine: Machine, rules: SglangRules, options: StockOptions) {
    this.machine = machine;
    this.rules = rules;
    this.kv = new SharedKv(machine, { evictWholeNodes: true, refreshOnRelease: false, ...options });
    this.ratio = this.ratioStart();
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
    const { decode } = machine;
    machine.nowSeconds = atSeconds;
    machine.clearLoad();
    if (decode.count === 0) this.batchFull = false;
    this.formPrefill(atSeconds);
    if (this.batch.length === 0 && decode.count === 0 && kv.dropCopies(this.waiting, atSeconds)) {
      this.batchFull = false;
      this.formPrefill(atSeconds);
    }
    if (this.batch.length > 0) this.stepping = "prefill";
    else {
      if (decode.count === 0) {
        this.ratio = this.ratioStart();
        return null;
      }
      this.prepareDecode(atSeconds);
      machine.addDecodes();
      kv.take(decode.count);
      this.stepping = "decode";
    }
    return machine.start(atSeconds, machine.budgetTokens - kv.freeTokens());
  }

  end(atSeconds: number): void {
    const { machine, kv } = this;
    const kind = this.stepping;
    machine.nowSeconds = atSeconds;
    this.stepping = "none";
    if (kind === "decode") for (const call of machine.giveTokens(atSeconds, contextAtJoin)) this.finish(call, atSeconds);
    else for (const { call, tokens } of this.batch) this.endPrefill(call, tokens, atSeconds);
    machine.end(atSeconds, kv.freeTokens(), kv.tree.deviceTokens, kv.channel.movedBytes);
    this.batch = [];
  }

  freeTokens(): number {
    return this.kv.freeTokens();
  }

  check(): string[] {
    const calls = new Set<Call>([...this.machine.decode.members, ...this.batch.map(({ call }) => call)]);
    if (this.chunked !== null) calls.add(this.chunked);
    const broken = this.kv.check(calls, this.stepping === "decode", this.waiting);
    for (const call of this.waiting)
      if (calls.has(call) || call.phase !== "waiting") broken.push(`call ${call.spec.id} is in two states`);
    return broken;
  }

  /** Rules 6.1.1-3: the unfinished chunk first, then the queue up to the first misfit. */
  private formPrefill(atSeconds: number): void {
    const { machine, kv, rules, waiting } = this;
    if ((this.batchFull || waiting.length === 0) && this.chunked === null) return;
    let chunkLeft = rules.chunkTokens;
    let inputLeft = rules.maxPrefillTokens;
    let offset = 0;
    let used = 0;
    for (const call of machine.decode.members)
      offset += Math.min(call.maxTokens - machine.decode.generatedOf(call), CLIP_TOKENS) * this.ratio;
    const add = (call: Call, reserved: number): void => {
      const tokens = Math.min(call.target - call.filled, chunkLeft);
      const whole = tokens === call.target - call.filled;
      offset += tokens + (whole ? reserved : 0);
      used += tokens;
      chunkLeft -= tokens;
      inputLeft -= tokens;
      machine.addChunk(tokens, call.filled);
      this.batch.push({ call, tokens });
      this.chunked = whole ? null : call;
    };
    if (this.chunked !== null) add(this.chunked, Math.min(this.chunked.maxTokens, CLIP_TOKENS));
    const taken = new Set<Call>();
    if (!this.batchFull && waiting.length > 0) {
      if (rules.order === "lpm") sortLpm(kv.tree, waiting);
      for (const call of waiting) {
        if (this.chunked !== null) break;
        if (machine.decode.count + this.batch.length >= rules.maxRunning) {
          this.batchFull = true;
          break;
        }
        const back = kv.bringBack(call, call.target - 1, atSeconds, used, offset);
        if (back === "copying") continue;
        if (back === "noRoom") {
          this.batchFull = true;
          break;
        }
        const cached = kv.tree.match(call.path, call.target - 1).tokens;
        const extend = call.target - cached;
        const reserved = Math.min(call.maxTokens, CLIP_TOKENS);
        const asked = extend + Math.min(call.maxTokens - call.generated, CLIP_TOKENS);
        if (asked >= kv.availableTokens() - offset) {
          this.batchFull = true;
          break;
        }
        if (extend >= inputLeft && this.batch.length > 0) break;
        kv.adopt(call, call.target - 1);
        if (asked >= kv.availableTokens() - offset) {
          kv.disown(call);
          this.batchFull = true;
          break;
        }
        if (chunkLeft <= 0) {
          kv.disown(call);
          break;
        }
        this.admit(call, atSeconds);
        add(call, reserved);
        taken.add(call);
        if (kv.availableTokens() - offset <= 0 || kv.availableTokens() - used <= 0) {
          this.batchFull = true;
          break;
        }
        if (inputLeft <= 0 || chunkLeft <= 0) break;
      }
    }
    if (taken.size > 0) this.waiting = waiting.filter((call) => !taken.has(call));
    kv.take(used);
    for (const { call, tokens } of this.batch) call.inFlight = tokens;
  }

  private admit(call: Call, atSeconds: number): void {
    if (call.admittedSeconds < 0) {
      call.admittedSeconds = atSeconds;
      call.cachedTokens = call.filled;
    } else call.redoneTokens += call.target - call.filled;
    call.phase = "prefill";
    this.machine.admitted(call);
  }

  private endPrefill(call: Call, tokens: number, atSeconds: number): void {
    const { machine, kv } = this;
    call.inFlight = 0;
    call.filled += tokens;
    kv.publish(call, call.filled);
    if (call.filled < call.target) return;
    machine.prefillToken(call, atSeconds);
    if (call.generated >= call.outputTokens) this.finish(call, atSeconds);
    else machine.decode.join(call, call.filled, call.filled + 1);
  }

  private finish(call: Call, atSeconds: number): void {
    this.kv.release(call, call.filled, call.filled);
    this.batchFull = false;
    this.machine.finish(call, atSeconds);
  }

  /** Rules 6.1.4-5: room for one token each, by eviction, then by retraction. */
  private prepareDecode(atSeconds: number): void {
    const { kv, machine } = this;
    const need = machine.decode.count;
    if (kv.freeTokens() < need) kv.tree.evict(need);
    if (kv.freeTokens() >= need) {
      this.ratio = Math.max(
        this.ratio - (this.ratioStart() - RATIO_END * this.rules.conservativeness) / RATIO_STEPS,
        RATIO_END * this.rules.conservativeness,
      );
      return;
    }
    const sorted = [...machine.decode.members].toSorted(
      (a, b) =>
        machine.decode.generatedOf(b) - machine.decode.generatedOf(a) || a.promptTokens - b.promptTokens || a.order - b.order,
    );
    do {
      if (sorted.length <= 1) break;
      this.retract(sorted.pop()!, atSeconds);
      const wanted = sorted.length * RETRACT_STEPS;
      if (kv.freeTokens() < wanted) kv.tree.evict(wanted);
    } while (kv.freeTokens() < sorted.length * RETRACT_STEPS);
    let generated = 0;
    let limit = 0;
    for (const call of sorted) {
      generated += machine.decode.generatedOf(call) + RETRACT_STEPS;
      limit += call.maxTokens;
    }
    this.ratio = Math.min(1, generated / limit);
    this.batchFull = false;
  }

  private retract(call: Call, atSeconds: number): void {
    const { machine, kv, waiting } = this;
    machine.decode.leave(call, contextAtJoin(call));
    kv.release(call, call.filled, call.locked);
    if (this.rules.redo === "decode") call.generated = 0;
    call.target = call.promptTokens + call.generated;
    call.filled = 0;
    call.phase = "waiting";
    machine.preempted(call);
    waiting.push(call);
    machine.listener.preempted(call, atSeconds);
  }

  private ratioStart(): number {
    return RATIO_START * this.rules.conservativeness;
  }
}

function contextAtJoin(call: Call): number {
  return call.heldAtJoin + 1;
}
