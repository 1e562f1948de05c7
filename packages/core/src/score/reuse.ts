import type { Speeds } from "../config.ts";
import { copySeconds } from "../estimate/cost.ts";
import type { EntryId } from "../events.ts";
import type { EntryState } from "../state.ts";

/** V_reuse = beta * sum over resident prefixes of n_a * mu * l_a / B_swap, Eq. 11, seconds. */
export function reuseValueSeconds(
  speeds: Speeds,
  resident: Iterable<EntryState>,
  reuse: ReadonlyMap<EntryId, number>,
  beta: number,
): number {
  let seconds = 0;
  for (const entry of resident) seconds += (reuse.get(entry.id) ?? 0) * copySeconds(speeds, entry.tokens);
  return beta * seconds;
}
