import type { RequestState } from "../state.ts";

const AS_ADMITTED = (): number => 1;

/** J_revoke = factor * sum of the credits frozen at admission, Eq. 10, seconds; `agedBy`: what each counts for now. */
export function revokeCost(
  preempted: readonly RequestState[],
  factor: number,
  agedBy: (request: RequestState) => number = AS_ADMITTED,
): number {
  return factor * preempted.reduce((sum, request) => sum + request.creditSeconds * agedBy(request), 0);
}
