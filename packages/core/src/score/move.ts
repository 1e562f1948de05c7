import type { CoreConfig } from "../config.ts";
import { enterSeconds, leaveSeconds } from "../estimate/cost.ts";
import type { EntryState } from "../state.ts";

/**
 * J_move = T_move * |T_in|, Eq. 8, seconds: the serial copy of everything that enters or leaves, paid by each task that waits
 * for an incoming prefix.
 */
export function moveCost(
  config: CoreConfig,
  incoming: readonly EntryState[],
  outgoing: readonly EntryState[],
  waitingTasks: number,
  billSwapOut: boolean,
): number {
  if (waitingTasks === 0) return 0;
  let seconds = 0;
  for (const entry of incoming) seconds += enterSeconds(config, entry);
  if (billSwapOut) for (const entry of outgoing) seconds += leaveSeconds(config, entry);
  return seconds * waitingTasks;
}
