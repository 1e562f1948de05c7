import type { CoreConfig } from "../config.ts";
import { redoSeconds } from "../estimate/cost.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";

/** J_redo = sum over preempted of the work done again, Eq. 9, seconds; billed by what is lost, or always as redecoding. */
export function redoCost(config: CoreConfig, preempted: readonly RequestState[], bill: PolicyOptions["redoBill"]): number {
  return preempted.reduce((sum, request) => sum + redoSeconds(config, request, bill), 0);
}

/** What a preempted request loses under these options: the engine's own way, unless the policy names another. */
export function redoMode(config: CoreConfig, options: Pick<PolicyOptions, "redo">): CoreConfig["redo"] {
  return options.redo === "engine" ? config.redo : options.redo;
}
