import { classOf, type Attained } from "../order/plas.ts";
import { servedSeconds } from "../order/service.ts";
import { byReady } from "../order/compare.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { Plan, Preempt } from "../policy/policy.ts";
import type { EntryId } from "../events.ts";
import type { RequestState } from "../state.ts";
import { roomAfter, type View } from "../view.ts";

/** Length of the quantum of a class: 2, 4, 8, ... s. */
export function quantumSeconds(level: number): number {
  return 2 ** (level + 1);
}

/** Class of a running call: one lower per quantum served. */
export function classAfter(level: number, served: number): number {
  let left = served;
  let now = level;
  while (left >= quantumSeconds(now)) {
    left -= quantumSeconds(now);
    now += 1;
  }
  return now;
}

/**
 * Quantum swap of PLAS and ATLAS, only where the engine can swap: a running call drops one class per quantum and yields to
 * the best waiting call of a better class that does not fit. A call that has been swapped out keeps the class it had dropped
 * to, else two calls of which one fits would swap for ever (K20). At most one such swap a decision.
 */
export function quantumSwap(options: AllOptions, attained: Attained): Preempt {
  const level = (view: View, request: RequestState): number => classOf(view, request, attained, options.starvedRatio);
  return {
    id: "quantum-swap",
    voluntary: true,
    eligible: () => false,
    improve(view, policy, plan) {
      const mode = policy.options.redo === "engine" ? view.state.config.redo : policy.options.redo;
      if (mode !== "swap" || plan.preempt.length > 0) return plan;
      const admitted = new Set(plan.admit.map(({ request }) => request));
      const waiting = view.waiting
        .filter((request) => !admitted.has(request))
        .map((request) => ({ request, level: classAfter(level(view, request), servedSeconds(view, request)) }))
        .toSorted((a, b) => a.level - b.level || byReady(a.request, b.request));
      const head = waiting[0];
      if (head === undefined) return plan;
      const victims = view.running
        .filter((request) => request.decodedTokens > 0)
        .map((request) => ({ request, level: classAfter(level(view, request), servedSeconds(view, request)) }))
        .filter((victim) => victim.level > head.level)
        .toSorted((a, b) => b.level - a.level || b.request.admitSeq - a.request.admitSeq);
      return (
        yieldTo(
          view,
          plan,
          head.request,
          victims.map(({ request }) => request),
        ) ?? plan
      );
    },
  };
}

/** The plan with `head` admitted in place of as few of `victims`, in turn, as make it fit; null: they do not. */
export function yieldTo(view: View, plan: Plan, head: RequestState, victims: readonly RequestState[]): Plan | null {
  const leaving = new Set<RequestState>();
  for (const victim of victims) {
    leaving.add(victim);
    const staying = view.running.filter((request) => !leaving.has(request));
    if (!fits(view, plan, head, staying, leaving.size)) continue;
    const admit = [...plan.admit, { request: head, needTokens: view.needTokens(head), gainSeconds: 0 }];
    return { admit, preempt: [...leaving] };
  }
  return null;
}

function fits(view: View, plan: Plan, head: RequestState, staying: readonly RequestState[], freedSlots: number): boolean {
  if (view.slots + freedSlots - plan.admit.length < 1) return false;
  const pinned = new Set<EntryId>();
  for (const request of staying) if (request.prefix !== null) pinned.add(request.prefix);
  let room = roomAfter(view, staying);
  for (const request of [...plan.admit.map((admission) => admission.request), head]) {
    room -= view.needTokens(request);
    const prefix = view.prefixOf(request);
    if (prefix === null || pinned.has(prefix.id)) continue;
    pinned.add(prefix.id);
    room -= prefix.tokens;
  }
  return room >= 0;
}
