import { toBlocks } from "./config.ts";
import type { EntryId, WaitReason } from "./events.ts";
import { serviceSeconds } from "./estimate/estimator.ts";
import type { KeyOrder, PolicyOptions, SearchOrder } from "./policy/policy.ts";
import { generatedTokens, type RequestState } from "./state.ts";
import { costTokens, type View } from "./view.ts";

export interface Packed {
  readonly taken: readonly RequestState[];
  /** The request whose reservation bounds the skipping, if any. */
  readonly guardedBy: RequestState | null;
  /** Requests that the order's gate turned away. */
  readonly refused: ReadonlyMap<RequestState, WaitReason>;
}

/**
 * Takes requests in key order while they fit the promise ledger and the slots; `fit` says what happens at a misfit (algorithm 1.5).
 * Orders that follow residency are sorted again with what the plan brings in, until nothing more is taken, so that the
 * decision after this one is empty.
 */
export function pack(view: View, order: KeyOrder | SearchOrder, options: PolicyOptions): Packed {
  const taken = new Set<RequestState>();
  const incoming = new Set<EntryId>();
  const guard = options.fit === "guarded" ? reservation(view, options) : null;
  let room = view.roomTokens;
  let slots = view.slots;
  let extra = guard?.extraTokens ?? Infinity;
  const gate = order.kind === "keys" ? (order.gate?.(view) ?? null) : null;
  const refused = new Map<RequestState, WaitReason>();

  const pass = (sequence: readonly RequestState[]): void => {
    for (const request of sequence) {
      if (slots <= 0) return;
      const no = gate?.refuse(request) ?? null;
      if (no !== null) {
        refused.set(request, no);
        continue;
      }
      const cost =
        toBlocks(view.state.config, request.spec.ownPromptTokens) > room ? Infinity : costTokens(view, request, incoming);
      if (cost > room) {
        if (options.fit === "stop") return;
        continue;
      }
      if (guard !== null && request !== guard.request && endSeconds(view, request) > guard.shadowSeconds) {
        if (cost > extra) continue;
        extra -= cost;
      }
      taken.add(request);
      gate?.take(request);
      refused.delete(request);
      room -= cost;
      slots -= 1;
      if (request.prefix !== null) incoming.add(request.prefix);
    }
  };
  const resort = order.kind === "keys" && order.residencyBound;
  for (let before = -1; taken.size > before && slots > 0;) {
    before = taken.size;
    const queue = before === 0 ? view.waiting : view.waiting.filter((request) => !taken.has(request));
    pass(order.sort(view, queue, incoming));
    if (!resort) break;
  }
  return { taken: [...taken], guardedBy: guard?.request ?? null, refused };
}

function endSeconds(view: View, request: RequestState): number {
  return serviceSeconds(view.state, request.spec.ownPromptTokens, view.estimator.remainingTokens(request));
}

interface Guard {
  readonly request: RequestState;
  /** Seconds from now at which expected completions make it fit. */
  readonly shadowSeconds: number;
  /** Tokens left over at that time. */
  readonly extraTokens: number;
}

/** The request skipped longest, once past its hold time, with its backfill reservation. */
function reservation(view: View, options: PolicyOptions): Guard | null {
  let oldest: RequestState | null = null;
  for (const request of view.waiting)
    if (request.skippedSinceSeconds !== null && (oldest === null || before(request, oldest))) oldest = request;
  if (oldest === null) return null;
  const hold = options.holdSeconds ?? Math.max(10, 2 * endSeconds(view, oldest));
  if (view.nowSeconds - oldest.skippedSinceSeconds! <= hold) return null;
  const cost = costTokens(view, oldest);
  let free = view.roomTokens;
  const users = new Map<EntryId, number>();
  for (const request of view.running)
    if (request.prefix !== null) users.set(request.prefix, (users.get(request.prefix) ?? 0) + 1);
  const ends = view.running
    .map((request) => ({ request, seconds: view.estimator.remainingTokens(request) }))
    .toSorted((a, b) => a.seconds - b.seconds || generatedTokens(b.request) - generatedTokens(a.request));
  const h = view.state.config.speeds.decodeSecondsPerToken;
  let shadow = 0;
  for (const { request, seconds } of ends) {
    if (cost <= free) break;
    free += request.promisedTokens;
    shadow = seconds * h;
    if (request.prefix === null) continue;
    const left = users.get(request.prefix)! - 1;
    users.set(request.prefix, left);
    if (left === 0 && request.prefix !== oldest.prefix) free += view.prefixOf(request)?.tokens ?? 0;
  }
  return { request: oldest, shadowSeconds: shadow, extraTokens: Math.max(0, free - cost) };
}

function before(a: RequestState, b: RequestState): boolean {
  const delta = a.skippedSinceSeconds! - b.skippedSinceSeconds!;
  return delta !== 0 ? delta < 0 : a.readySeq < b.readySeq;
}
