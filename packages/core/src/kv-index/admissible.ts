import type { RequestState } from "../state.ts";

/** True: a victim or refused request that may not be admitted at this instant (algorithm 1.3, 1.4). */
export function rests(request: RequestState, nowSeconds: number): boolean {
  if (request.pendingMode !== null) return true;
  return request.cooldownSeconds !== null && nowSeconds <= request.cooldownSeconds;
}
