import type { WaitReason, Why } from "../events.ts";
import { WHY_LIMIT } from "../explain-plan.ts";
import type { RequestState } from "../state.ts";
import { rests } from "./admissible.ts";
import type { Picking } from "./choose.ts";
import type { Group, Item } from "./item.ts";

/**
 * The reasons of one decision, worked out when first read from what the decision saw: each request moved, then the oldest
 * ones left waiting. What may change before it is read is copied now.
 */
export function explainLater(picking: Picking, victims: readonly Item[], roomBefore: number): () => Why[] {
  const { index, nowSeconds, admit, roomTokens, slots, guard } = picking;
  const waiting: Item[] = [];
  const held: { readonly request: RequestState; readonly reason: WaitReason }[] = [];
  for (const item of index.queue) {
    if (item.takenIn === index.decisions) continue;
    const reason = rests(item.request, nowSeconds) ? "cooldown" : item.group.scratch.evicting ? "prefixLoading" : null;
    if (reason !== null) held.push({ request: item.request, reason });
    else if (waiting.push(item) >= WHY_LIMIT) break;
  }
  const charges = new Map<Group, number>();
  for (const group of picking.groups) if (group.scratch.chargeTokens > 0) charges.set(group, group.scratch.chargeTokens);
  const victimsSeen = victims.map(({ id, request }) => ({ id, gain: -request.creditSeconds, cost: request.promisedTokens }));
  const opening = new Map(picking.opened);
  const costs = admit.map(({ needTokens, group }) => {
    const prefix = opening.get(group) ?? 0;
    opening.delete(group);
    return needTokens + prefix;
  });
  let why: Why[] | null = null;
  return () => {
    if (why !== null) return why;
    why = victimsSeen.map(({ id, gain, cost }) => ({
      request: id,
      action: "preempted",
      gainSeconds: gain,
      costTokens: cost,
      roomBefore,
      roomAfter: roomTokens,
    }));
    let room = roomTokens + costs.reduce((sum, cost) => sum + cost, 0);
    admit.forEach(({ id }, i) => {
      const cost = costs[i]!;
      why!.push({ request: id, action: "admitted", gainSeconds: 0, costTokens: cost, roomBefore: room, roomAfter: room - cost });
      room -= cost;
    });
    for (const item of waiting) {
      const cost = item.needTokens + (charges.get(item.group) ?? 0);
      const reason = reasonFor(cost, roomTokens, slots, guard !== null && guard.item !== item);
      why.push({ request: item.id, action: "waiting", reason, costTokens: cost, roomTokens });
    }
    for (const { request, reason } of held)
      why.push({ request: request.spec.id, action: "waiting", reason, costTokens: 0, roomTokens });
    return why;
  };
}

function reasonFor(cost: number, room: number, slots: number, guarded: boolean): WaitReason {
  if (slots <= 0) return "slots";
  if (cost > room) return "didNotFit";
  return guarded ? "behindGuard" : "outranked";
}
