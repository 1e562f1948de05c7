import type { WaitReason } from "./events.ts";
import { viewFor } from "./decide.ts";
import type { Policy } from "./policy/policy.ts";
import { createGains } from "./score/admit.ts";
import { shadowOf } from "./shadow.ts";
import type { State } from "./state.ts";
import { costTokens } from "./view.ts";

export interface QueueHistory {
  /** Decisions that admitted something while this request stayed waiting. */
  readonly passes: number;
  /** Requests that came later and were admitted first, oldest admission first; from the last 4,096 admissions. */
  readonly overtakenBy: readonly string[];
  readonly preemptions: number;
  readonly refusals: number;
}

/** How a live request fared in the queue so far; null when it is not live. Read it before its terminal event. */
export function queueHistory(state: State, requestId: string): QueueHistory | null {
  const request = state.requests.get(requestId);
  if (request === undefined) return null;
  const until = request.admittedSeconds === null ? Infinity : request.admitSeq;
  const overtakenBy = state.admissions
    .filter((other) => other.readySeq > request.readySeq && other.admitSeq < until)
    .map((other) => other.request);
  const passes = (request.admittedSeconds === null ? state.admittingDecisions : request.passesAtAdmission) - request.passesMark;
  return { passes, overtakenBy: [...new Set(overtakenBy)], preemptions: request.preemptions, refusals: request.refusals };
}

/**
 * Whether a live request has been forced back by the engine more than `maxRetractions` times: whoever owns it then ends it
 * with reason `retraction_limit` instead of letting it loop (K14). O(1); null: no limit.
 */
export function overRetracted(state: State, requestId: string, maxRetractions: number | null): boolean {
  if (maxRetractions === null) return false;
  return (state.requests.get(requestId)?.retractions ?? 0) > maxRetractions;
}

export interface WaitExplanation {
  /** What it waits for; outranked: it fits, others go first. */
  readonly reason: WaitReason;
  readonly waitedSeconds: number;
  readonly costTokens: number;
  readonly roomTokens: number;
  /** Tokens that must come free before it fits; 0: it fits. */
  readonly missingTokens: number;
  /** Seconds until expected completions make it fit, if nobody new were admitted; null: slots or a hold decide. */
  readonly fitsInSeconds: number | null;
  /** g_i * max(gainFloor * E[Z], Delta), seconds, for policies that search; null for key orders. */
  readonly gainSeconds: number | null;
  readonly history: QueueHistory;
}

/** What a waiting request waits for, whatever its place in the queue; null when it does not wait. Costs one view, no decision. */
export function explainWaiting(state: State, policy: Policy, requestId: string, nowSeconds: number): WaitExplanation | null {
  const request = state.waiting.get(requestId);
  if (request === undefined) return null;
  const view = viewFor(state, policy, nowSeconds);
  const held = view.held.find((one) => one.request === request)?.reason ?? null;
  const gate = policy.order.kind === "keys" ? (policy.order.gate?.(view).refuse(request) ?? null) : null;
  const cost = costTokens(view, request);
  const room = view.roomTokens;
  const reason = held ?? gate ?? (view.slots <= 0 ? "slots" : cost > room ? "didNotFit" : "outranked");
  return {
    reason,
    waitedSeconds: nowSeconds - request.readySeconds,
    costTokens: cost,
    roomTokens: room,
    missingTokens: Math.max(0, cost - room),
    fitsInSeconds: reason === "didNotFit" || reason === "outranked" ? shadowOf(view, request).shadowSeconds : null,
    gainSeconds: policy.order.kind === "search" ? createGains(view, policy.options).gain(request, undefined) : null,
    history: queueHistory(state, requestId)!,
  };
}
