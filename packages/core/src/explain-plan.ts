import type { EntryId, WaitReason, Why } from "./events.ts";
import type { Packed } from "./pack.ts";
import type { Plan, ScoredPlan, SearchResult } from "./policy/policy.ts";
import type { RequestState } from "./state.ts";
import { costTokens, roomAfter, type View } from "./view.ts";

/** Waiting requests named in `why`, oldest first; the rest of a longer queue is left out. */
export const WHY_LIMIT = 128;

/** The reasons of one decision: chosen, no-op and runner-up by term, then each request moved, then each one left waiting. */
export function explainPlan(view: View, plan: Plan, search: SearchResult | null, packed: Packed | null): Why[] {
  const why: Why[] = [];
  if (search !== null) why.push(...candidates(plan, search));
  const leaving = new Set(plan.preempt);
  const staying = view.running.filter((request) => !leaving.has(request));
  const before = view.roomTokens;
  let room = plan.preempt.length === 0 ? before : roomAfter(view, staying);
  for (const request of plan.preempt)
    why.push({
      request: request.spec.id,
      action: "preempted",
      gainSeconds: -request.creditSeconds,
      costTokens: request.promisedTokens,
      roomBefore: before,
      roomAfter: room,
    });
  const pinned = new Set<EntryId>();
  for (const request of staying) if (request.prefix !== null) pinned.add(request.prefix);
  const costNow = (request: RequestState): number => {
    const prefix = view.prefixOf(request);
    return view.needTokens(request) + (prefix === null || pinned.has(prefix.id) ? 0 : prefix.tokens);
  };
  for (const { request, gainSeconds } of plan.admit) {
    const cost = costNow(request);
    why.push({
      request: request.spec.id,
      action: "admitted",
      gainSeconds,
      costTokens: cost,
      roomBefore: room,
      roomAfter: room - cost,
    });
    room -= cost;
    if (request.prefix !== null) pinned.add(request.prefix);
  }

  const admitted = new Set(plan.admit.map(({ request }) => request));
  const slots = view.slots + plan.preempt.length - plan.admit.length;
  let named = 0;
  for (const request of view.waiting) {
    if (admitted.has(request)) continue;
    if (named++ >= WHY_LIMIT) break;
    const cost = costNow(request);
    why.push({
      request: request.spec.id,
      action: "waiting",
      reason: packed?.refused.get(request) ?? reasonFor(cost, room, slots, packed?.guardedBy ?? null, request),
      costTokens: cost,
      roomTokens: room,
    });
  }
  for (const { request, reason } of view.held)
    why.push({ request: request.spec.id, action: "waiting", reason, costTokens: costTokens(view, request), roomTokens: room });
  return why;
}

/** The plan carried out, the no-op and the best of the others; an idle engine runs the best that admits, not the best. */
function candidates(plan: Plan, { best, noop, runnerUp, bestAdmitting }: SearchResult): Why[] {
  const of = (candidate: "chosen" | "noop" | "runnerUp", { terms, totalSeconds }: ScoredPlan): Why => ({
    candidate,
    terms,
    totalSeconds,
  });
  if (plan === best) return [of("chosen", best), of("noop", noop), ...(runnerUp === null ? [] : [of("runnerUp", runnerUp)])];
  const chosen = plan === bestAdmitting ? [of("chosen", bestAdmitting)] : [];
  return [...chosen, of("noop", noop), of("runnerUp", best)];
}

function reasonFor(cost: number, room: number, slots: number, guardedBy: RequestState | null, request: RequestState): WaitReason {
  if (slots <= 0) return "slots";
  if (cost > room) return "didNotFit";
  return guardedBy !== null && guardedBy !== request ? "behindGuard" : "outranked";
}
