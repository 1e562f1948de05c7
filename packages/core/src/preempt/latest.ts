import type { Preempt } from "../policy/policy.ts";
import type { RequestState, State } from "../state.ts";

/** Who leaves when the engine runs short of cells; each rule is one order over the running requests, first to leave first. */
export interface OverflowRule extends Preempt {
  overflow(state: State, shortTokens: number): readonly string[];
}

/** Takes victims in an order until their cells cover the shortage; what is on its way to being free counts. */
export function takeVictims(
  state: State,
  shortTokens: number,
  compare: (a: RequestState, b: RequestState) => number,
): readonly string[] {
  const victims: string[] = [];
  let short = shortTokens - state.ledger.pendingFree;
  for (const request of [...state.running.values()].toSorted(compare)) {
    if (short <= 0) break;
    victims.push(request.spec.id);
    short -= request.cells;
  }
  return victims;
}

/** vLLM: the latest admitted leaves first. */
export const latest: OverflowRule = {
  id: "latest",
  voluntary: false,
  eligible: () => false,
  overflow: (state, shortTokens) => takeVictims(state, shortTokens, (a, b) => b.admitSeq - a.admitSeq),
};
