import type { RequestState } from "../state.ts";

/** J_revoke = factor * sum of the credits frozen at admission, Eq. 10, seconds. */
export function revokeCost(preempted: readonly RequestState[], factor: number): number {
  return factor * preempted.reduce((sum, request) => sum + request.creditSeconds, 0);
}
