import { createPolicy, decide, describePolicy, policyIds, type Decision, type Policy } from "@topas/core";
import { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";
import { carryOut } from "./carry-out.ts";
import { onEngine } from "./engine-view.ts";

const PASSES_PER_INSTANT = 4;
const FALLBACK = "passthrough";

/** When to decide, with which policy, and what happens if the policy throws. */
export class Decider {
  policyId: string;
  last: Decision | null = null;
  private readonly loop: Loop;
  private policy: Policy;
  private due = false;
  private wake: NodeJS.Timeout | null = null;

  /** @throws GatewayError 400 `unknown_policy` naming the known ids. */
  constructor(loop: Loop, policyId: string) {
    this.loop = loop;
    this.policyId = policyId;
    this.policy = this.make(policyId);
  }

  /** Takes effect with the next decision; running calls are not touched. */
  use(id: string): void {
    this.policy = this.make(id);
    this.policyId = id;
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

  private run(): void {
    if (this.loop.closed || !this.loop.engineUp) return;
    try {
      for (let pass = 0; pass < PASSES_PER_INSTANT; pass++) if (!this.once(pass)) return;
    } catch (error) {
      this.loop.counters_.scheduler_errors_total++;
      this.loop.options.log?.("error", `policy failed; falling back to ${FALLBACK}`, {
        policy: this.policyId,
        error: String(error),
      });
      if (this.policyId !== FALLBACK) this.use(FALLBACK);
    }
  }

  /** True: decide again in this instant, until nothing is left to do. */
  private once(pass: number): boolean {
    const { loop } = this;
    const now = loop.now();
    const decision = decide(loop.state, this.policy, now);
    loop.counters_.decisions_total++;
    loop.counters_.decision_seconds_total += loop.now() - now;
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

  private make(id: string): Policy {
    const meant = onEngine(this.loop.description, id);
    const policy = createPolicy(meant.id, { ...this.loop.options.policyOptions, ...meant.changes });
    if (policy !== null && describePolicy(policy).experimentsOnly) {
      throw new GatewayError("unknown_policy", {
        message: `policy "${id}" reads the future and is for experiments only`,
        param: "policy",
      });
    }
    if (policy !== null) return policy;
    throw new GatewayError("unknown_policy", {
      message: `unknown policy "${id}": choose one of ${policyIds().join(", ")}`,
      param: "policy",
    });
  }
}

function isEmpty(d: Decision): boolean {
  return d.admit.length === 0 && d.preempt.length === 0 && d.load.length === 0 && d.evict.length === 0;
}
