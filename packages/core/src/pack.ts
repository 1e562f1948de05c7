import { toBlocks } from "./config.ts";
import type { EntryId, WaitReason } from "./events.ts";
import { overtakeLimit } from "./overtakes.ts";
import type { KeyOrder, PolicyOptions, SearchOrder } from "./policy/policy.ts";
import { endSeconds, shadowOf, type Shadow } from "./shadow.ts";
import type { RequestState } from "./state.ts";
import type { View } from "./view.ts";

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
  const limit = gate === null ? overtakeLimit(view, options) : null;

  const pass = (sequence: readonly RequestState[]): void => {
    for (const request of sequence) {
      if (slots <= 0) return;
      const no = gate?.refuse(request) ?? null;
      if (no !== null) {
        refused.set(request, no);
        continue;
      }
      if (limit !== null && !limit.allows(request)) {
        refused.set(request, "behindGuard");
        continue;
      }
      const cost = costWithin(view, request, incoming, room);
      if (cost > room) {
        if (options.fit === "stop") return;
        continue;
      }
      if (
        guard !== null &&
        request !== guard.request &&
        limit?.due.includes(request) !== true &&
        endSeconds(view, request) > guard.shadowSeconds
      ) {
        if (cost > extra) continue;
        extra -= cost;
      }
      taken.add(request);
      gate?.take(request);
      limit?.take(request);
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
    const sorted = order.sort(view, queue, incoming);
    pass(limit === null || limit.due.length === 0 ? sorted : headedBy(limit.due, taken, sorted));
    if (!resort) break;
  }
  return { taken: [...taken], guardedBy: guard?.request ?? null, refused };
}

function headedBy(
  due: readonly RequestState[],
  taken: ReadonlySet<RequestState>,
  sorted: readonly RequestState[],
): readonly RequestState[] {
  return [...due.filter((request) => !taken.has(request)), ...sorted.filter((request) => !due.includes(request))];
}

/** cost(r), or Infinity as soon as its prefix and prompt alone exceed the room: most of a long queue is never looked at closer. */
function costWithin(view: View, request: RequestState, taken: ReadonlySet<EntryId>, room: number): number {
  const prefix = view.prefixOf(request);
  const covered = prefix === null || prefix.users > 0 || taken.has(prefix.id);
  const shared = covered ? 0 : prefix.tokens;
  return shared + toBlocks(view.state.config, request.spec.ownPromptTokens) > room ? Infinity : shared + view.needTokens(request);
}

interface Guard extends Shadow {
  readonly request: RequestState;
}

/** The request skipped longest, once past its hold time, with its backfill reservation. */
function reservation(view: View, options: PolicyOptions): Guard | null {
  let oldest: RequestState | null = null;
  for (const request of view.waiting)
    if (request.skippedSinceSeconds !== null && (oldest === null || before(request, oldest))) oldest = request;
  if (oldest === null) return null;
  const hold = options.holdSeconds ?? Math.max(10, 2 * endSeconds(view, oldest));
  if (view.nowSeconds - oldest.skippedSinceSeconds! <= hold) return null;
  return { request: oldest, ...shadowOf(view, oldest) };
}

function before(a: RequestState, b: RequestState): boolean {
  const delta = a.skippedSinceSeconds! - b.skippedSinceSeconds!;
  return delta !== 0 ? delta < 0 : a.readySeq < b.readySeq;
}
