import type { StageState, State } from "../state.ts";
import { nonNegative } from "./stage-lengths.ts";

/**
 * c_v = (n(rounds > k) + 1)/(n(rounds >= k) + 2) after k rounds begun (algorithm 2.9). With declared rounds the two
 * pseudo-samples follow their mean. 0 for a stage that one call ends, and once the declared bound is reached.
 */
export function anotherRound(state: State, stage: StageState): number {
  const { rounds } = stage.declared;
  if (!stage.virtual && rounds === null) return 0;
  const k = (stage.virtual ? stage.visits : stage.rounds) + (stage.request === null ? 0 : 1);
  if (rounds !== null && k >= rounds.max) return 0;
  const counts = stage.keys[0] === undefined ? undefined : state.profile.stats.get(stage.keys[0])?.roundCounts;
  let reached = 0;
  let beyond = 0;
  for (let n = k; n < (counts?.length ?? 0); n++) {
    reached += counts![n]!;
    if (n > k) beyond += counts![n]!;
  }
  const mean = nonNegative(rounds?.mean) ?? 2;
  const prior = mean > 1 ? 1 - 1 / mean : 0;
  return (beyond + 2 * prior) / (reached + 2);
}
