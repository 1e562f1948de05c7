import { decide, type Decision, type Policy, type PolicyChanges } from "@topas/core";
import type { Loop } from "../loop.ts";
import type { Fallback } from "../scheduler.ts";
import { carryOut } from "./carry-out.ts";
import { createTimeHistogram } from "./decision-times.ts";
import { FALLBACK, makePolicy } from "./make-policy.ts";

const PASSES_PER_INSTANT = 4;

/** When to decide, with which policy, and what happens if the policy fails. */
export class Decider {
  policyId: string;
  last: Decision | null = null;
  fallback: Fallback | null = null;
  /** Of `decide` alone, the policy's own work. */
  readonly times = createTimeHistogram();
  private readonly loop: Loop;
  private readonly decide: typeof decide;
  /** Options belong to the policy they were given for. */
  private configured: { readonly id: string; readonly options: PolicyChanges };
  private policy: Policy;
  private due = false;
  private failing = false;
  private wake: NodeJS.Timeout | null = null;

  /** @throws GatewayError 400 `unknown_policy` naming the known ids. */
  constructor(loop: Loop, policyId: string, options: PolicyChanges) {
    this.loop = loop;
    this.decide = loop.options.decide ?? decide;
    this.policyId = policyId;
    this.configured = { id: policyId, options };
    this.policy = makePolicy(loop.description, policyId, options);
  }

  /** Options in force. */
  get policyOptions(): PolicyChanges {
    return this.policyId === this.configured.id ? this.configured.options : {};
  }

  /** Takes effect with the next decision; running calls are not touched. Without `options`: those this policy was last given. */
  use(id: string, options?: PolicyChanges): void {
    const wanted = options ?? (id === this.configured.id ? this.configured.options : {});
    this.policy = makePolicy(this.loop.description, id, wanted);
    if (options !== undefined) this.configured = { id, options };
    this.policyId = id;
    this.fallback = null;
    this.failing = false;
    this.request();
  }

  /** Events of one turn of the event loop are one instant: they share one decision (algorithm 1.3). */
  request(): void {
    if (this.due || this.loop.closed) return;
    this.due = true;
    setImmediate(() => {
      this.due = false;
      this.run();
    });
  }

  /** Lets orders whose keys move with time look again. */
  timer(): void {
    this.loop.apply({ kind: "timer", at: this.loop.now() });
    this.request();
  }

  close(): void {
    if (this.wake !== null) clearTimeout(this.wake);
    this.wake = null;
  }

  /** The policy in force is of no use: passthrough takes over, said once in the log, counted, and shown until the next switch. */
  fallBack(reason: Fallback["reason"], message: string): void {
    const { loop } = this;
    const from = this.policyId;
    if (from === FALLBACK) {
      // There is nothing below passthrough; `/ready` says so once nothing has moved for a while.
      if (!this.failing) loop.options.log?.("error", `${FALLBACK} failed too`, { reason, error: message });
      this.failing = true;
      return;
    }
    loop.counters_.policy_fallbacks_total++;
    loop.options.log?.("error", `policy failed; falling back to ${FALLBACK}`, { policy: from, reason, error: message });
    this.use(FALLBACK);
    this.fallback = { from, reason, message, atSeconds: loop.now() };
  }

  private run(): void {
    const { loop } = this;
    if (loop.closed || !loop.engineUp) return;
    const from = loop.now();
    try {
      for (let pass = 0; pass < PASSES_PER_INSTANT; pass++) if (!this.once(pass)) break;
    } catch (error) {
      loop.counters_.scheduler_errors_total++;
      this.fallBack("policy_failed", String(error));
    }
    loop.counters_.scheduling_seconds_total += loop.now() - from;
  }

  /** True: decide again in this instant, until nothing is left to do. */
  private once(pass: number): boolean {
    const { loop } = this;
    const now = loop.now();
    const decision = this.decide(loop.state, this.policy, now);
    const seconds = loop.now() - now;
    this.times.add(seconds);
    loop.counters_.decisions_total++;
    loop.counters_.decision_seconds_total += seconds;
    if (pass === 0) loop.shadow?.compare(decision, now);
    if (pass === 0 || decision.admit.length > 0) loop.records.note(decision, loop.waiting, now);
    this.wakeAt(decision.wakeAtSeconds, now);
    if (isEmpty(decision)) return false;
    this.last = decision;
    loop.apply({ kind: "committed", at: now, decision });
    carryOut(loop, decision, now);
    return decision.preempt.length === 0;
  }

  private wakeAt(atSeconds: number | null, now: number): void {
    this.close();
    if (atSeconds === null) return;
    this.wake = setTimeout(() => this.timer(), Math.max(1, (atSeconds - now) * 1000));
    this.wake.unref();
  }
}

function isEmpty(d: Decision): boolean {
  return d.admit.length === 0 && d.preempt.length === 0 && d.load.length === 0 && d.evict.length === 0;
}
