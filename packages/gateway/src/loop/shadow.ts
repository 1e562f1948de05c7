import { decide, type Decision, type Policy } from "@topas/core";
import { GatewayError } from "../errors.ts";
import type { Journal } from "../journal.ts";
import type { Loop } from "../loop.ts";
import { makePolicy } from "./make-policy.ts";

/**
 * Asks a second policy at every decision, without acting on the answer. Its view is the state that the policy in force has
 * made, so it says what the other would do next, not what would have happened under it: that is what replay is for.
 */
export class Shadow {
  readonly policyId: string;
  private readonly loop: Loop;
  private readonly policy: Policy;
  private readonly journal: Journal;

  constructor(loop: Loop, id: string, journal: Journal) {
    this.policyId = id;
    this.loop = loop;
    this.policy = makePolicy(loop.description, id, {});
    this.journal = journal;
  }

  /** Call before `active` is committed: both look at the same state. */
  compare(active: Decision, now: number): void {
    const { state, counters_ } = this.loop;
    if (state.waiting.size === 0) return;
    const from = this.loop.now();
    let other: Decision;
    try {
      other = decide(state, this.policy, now);
    } catch (error) {
      counters_.shadow_errors_total++;
      this.loop.options.log?.("warn", "the shadow policy failed", { policy: this.policyId, error: String(error) });
      return;
    }
    counters_.shadow_seconds_total += this.loop.now() - from;
    counters_.shadow_decisions_total++;
    const mine = new Set(active.admit.map((a) => a.request));
    const theirs = new Set(other.admit.map((a) => a.request));
    const onlyActive = [...mine].filter((id) => !theirs.has(id));
    const onlyShadow = [...theirs].filter((id) => !mine.has(id));
    const preempt = other.preempt.map((p) => p.request);
    if (onlyActive.length + onlyShadow.length + preempt.length === 0) return;
    counters_.shadow_differences_total++;
    this.journal.shadow({
      atMs: Math.round(now * 1000),
      policy: this.policyId,
      waiting: state.waiting.size,
      both: [...mine].filter((id) => theirs.has(id)).length,
      onlyActive,
      onlyShadow,
      preempt,
    });
  }
}

/** @throws GatewayError 400 `unknown_policy`, or `invalid_request` when there is no journal to write to. */
export function createShadow(loop: Loop, id: string): Shadow {
  const { journal } = loop.options;
  if (journal === undefined) {
    throw new GatewayError("invalid_request", {
      message: "shadow writes to the journal: name a journal file when the gateway starts",
      param: "shadow",
    });
  }
  return new Shadow(loop, id, journal);
}
