import type { WaitReason } from "../events.ts";
import type { RequestState, State } from "../state.ts";

/** Whether a waiting request may be admitted at this instant, and if not why (algorithm 1.3, 1.4). */
export function heldBack(state: State, request: RequestState, nowSeconds: number): WaitReason | null {
  if (request.pendingMode !== null) return "cooldown";
  if (request.cooldownSeconds !== null && nowSeconds <= request.cooldownSeconds) return "cooldown";
  if (request.prefix === null) return null;
  return state.entries.get(request.prefix)?.phase === "evicting" ? "prefixLoading" : null;
}

export function mayStart(state: State, request: RequestState, nowSeconds: number): boolean {
  return heldBack(state, request, nowSeconds) === null;
}
