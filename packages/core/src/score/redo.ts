import type { CoreConfig } from "../config.ts";
import { redoSeconds } from "../estimate/cost.ts";
import type { RequestState } from "../state.ts";

/** J_redo = sum over preempted of the work done again, Eq. 9, seconds; billed by what the engine loses. */
export function redoCost(config: CoreConfig, preempted: readonly RequestState[], bill: "actual" | "redecode"): number {
  return preempted.reduce((sum, request) => sum + redoSeconds(config, request, bill), 0);
}
