import { cover, evictActions, physicalOf } from "./evict/cover.ts";
import type { Decision, EntryId, LoadAction, PreemptMode, Why } from "./events.ts";
import { emptyDecision } from "./empty-decision.ts";
import { explainPlan } from "./explain-plan.ts";
import { overtakeLimit } from "./overtakes.ts";
import { pack, type Packed } from "./pack.ts";
import type { Admission, Plan, Policy, SearchResult } from "./policy/policy.ts";
import { prefetchLoads } from "./prefetch.ts";
import { full } from "./reserve/full.ts";
import { redoMode } from "./score/redo.ts";
import type { RequestState, State } from "./state.ts";
import { costTokens, createView, estimatorOptions, type View } from "./view.ts";

/** Seconds after a preempting instant at which the next decision may be asked for. */
const NEXT_INSTANT_SECONDS = 0.001;
const TICK_SECONDS = 1;

/**
 * What to do now. Pure: reads the state, changes nothing, and equal inputs give equal decisions. Feasible by construction.
 * The caller commits the result with a `committed` event before carrying it out.
 */
export function decide(state: State, policy: Policy, nowSeconds: number): Decision {
  if (state.preemptedAtSeconds !== null && nowSeconds <= state.preemptedAtSeconds)
    return emptyDecision(policy, nowSeconds, state.waiting.size > 0 ? nowSeconds + NEXT_INSTANT_SECONDS : null);
  const other = policy.delegate?.(viewFor(state, policy, nowSeconds)) ?? null;
  if (other !== null) return { ...decideAs(state, other, nowSeconds), policy: policy.id };
  return decideAs(state, policy, nowSeconds);
}

function decideAs(state: State, policy: Policy, nowSeconds: number): Decision {
  if (policy.order.kind === "keys" && policy.order.decide !== undefined) return policy.order.decide(state, policy, nowSeconds);
  const view = viewFor(state, policy, nowSeconds);
  if (!policy.options.governs) return admitEverything(view, policy);
  return realise(view, policy, choose(view, policy));
}

export function viewFor(state: State, policy: Policy, nowSeconds: number): View {
  const reserve = state.config.failsOnOverflow ? full : policy.reserve;
  return createView(state, nowSeconds, reserve, estimatorOptions(policy.options));
}

interface Choice {
  readonly plan: Plan;
  readonly search: SearchResult | null;
  readonly packed: Packed | null;
}

function choose(view: View, policy: Policy): Choice {
  const { order, options } = policy;
  const none = { search: null, packed: null };
  if (view.waiting.length === 0) return { plan: { admit: [], preempt: [] }, ...none };
  const gated = order.kind === "keys" && order.gate !== undefined;
  if (options.allFits && !gated && everythingFits(view))
    return { plan: planOf(view, policy, order.sort(view, view.waiting, new Set())), ...none };
  if (order.kind === "keys") {
    const packed = pack(view, order, options);
    const plan = planOf(view, policy, packed.taken);
    return { plan: policy.preempt.improve?.(view, policy, plan) ?? plan, search: null, packed };
  }
  const limit = overtakeLimit(view, options);
  if (limit !== null && limit.due.length > 0) {
    const packed = pack(view, order, { ...options, fit: "over" });
    return { plan: planOf(view, policy, packed.taken), search: null, packed };
  }
  const search = order.search(view, policy);
  const stalls = options.neverStalls && view.running.length === 0 && search.best.admit.length === 0;
  const plan = stalls ? (search.bestAdmitting ?? fill(view, policy)) : search.best;
  return { plan, search, packed: null };
}

/** An engine never stays idle while a waiting request fits, whatever the score says (algorithm 1.4). */
function fill(view: View, policy: Policy): Plan {
  return planOf(view, policy, pack(view, policy.order, { ...policy.options, fit: "over" }).taken);
}

function planOf(view: View, policy: Policy, taken: readonly RequestState[]): Plan {
  const credits = policy.order.kind === "search" ? policy.order.credits(view, policy, taken) : [];
  const admit = taken.map((request, i): Admission => ({
    request,
    needTokens: view.needTokens(request),
    gainSeconds: credits[i] ?? 0,
  }));
  return { admit, preempt: [] };
}

function everythingFits(view: View): boolean {
  if (view.waiting.length > view.slots) return false;
  let room = view.roomTokens;
  const taken = new Set<EntryId>();
  for (const request of view.waiting) {
    room -= costTokens(view, request, taken);
    if (room < 0) return false;
    if (request.prefix !== null) taken.add(request.prefix);
  }
  return true;
}

function realise(view: View, policy: Policy, { plan: chosen, search, packed }: Choice): Decision {
  const { nowSeconds } = view;
  const expired = policy.evict.expired?.(view) ?? [];
  const plan = expired.length === 0 ? chosen : { ...chosen, leave: [...(chosen.leave ?? []), ...expired] };
  const physical = physicalOf(view, policy.evict);
  const moved = cover(view, plan, physical);
  const evicted = new Set(moved.evict);
  const mode = preemptMode(view, policy);
  const wanted = prefetchLoads(view, policy, plan, moved);
  const load = [...moved.incoming, ...wanted].map((entry): LoadAction => ({
    entry: entry.id,
    from: entry.onHost ? "host" : "compute",
  }));
  return {
    policy: policy.id,
    atSeconds: nowSeconds,
    preempt: plan.preempt.map((request) => ({ request: request.spec.id, mode })),
    evict: evictActions(view, moved.evict),
    load,
    admit: plan.admit.map(({ request, needTokens, gainSeconds }) => ({
      request: request.spec.id,
      needTokens,
      creditSeconds: gainSeconds,
    })),
    keep: physical.order.filter((entry) => !evicted.has(entry)).map((entry) => entry.id),
    why: explainPlan(view, chosen, search, packed),
    wakeAtSeconds: wakeAt(view, policy, plan),
    ...(search?.truncated === true ? { searchTruncated: true as const } : {}),
    ...(search?.spread === undefined ? {} : { termSpread: search.spread }),
  };
}

function preemptMode(view: View, policy: Policy): PreemptMode {
  switch (redoMode(view.state.config, policy.options)) {
    case "swap":
      return "swap";
    case "redecode":
      return "redecode";
    case "reprefill":
    case "unknown":
      return "cancel";
  }
}

/** At once after a capped decision, 1 ms after a preempting one, else a tick for orders whose keys move with time, or an expiry. */
function wakeAt(view: View, policy: Policy, plan: Plan): number | null {
  const left = view.waiting.length + view.held.length - plan.admit.length;
  const expiry = policy.evict.expiresAtSeconds?.(view) ?? null;
  if (plan.preempt.length > 0) return view.nowSeconds + NEXT_INSTANT_SECONDS;
  if (left === 0) return expiry;
  if (policy.order.kind === "search" && plan.admit.length >= policy.options.maxPerDecision) return view.nowSeconds;
  if (view.held.some(({ reason }) => reason === "cooldown")) return view.nowSeconds + NEXT_INSTANT_SECONDS;
  const moves = policy.order.kind === "search" || policy.order.timeVarying || policy.options.fit === "guarded";
  if (!moves) return expiry;
  return Math.min(view.nowSeconds + TICK_SECONDS, expiry ?? Infinity);
}

function admitEverything(view: View, policy: Policy): Decision {
  const admitted = policy.order.sort(view, view.waiting, new Set());
  const why: Why[] = view.held.map(({ request, reason }) => ({
    request: request.spec.id,
    action: "waiting",
    reason,
    costTokens: 0,
    roomTokens: 0,
  }));
  return {
    ...emptyDecision(policy, view.nowSeconds, view.held.length > 0 ? view.nowSeconds + NEXT_INSTANT_SECONDS : null),
    admit: admitted.map((request) => ({
      request: request.spec.id,
      needTokens: view.needTokens(request),
      creditSeconds: 0,
    })),
    why,
  };
}
