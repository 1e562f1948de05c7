import { generatedTokens, type RequestState, type State } from "../state.ts";

/**
 * Forced preemption: who leaves when the engine is short of `shortTokens` cells. Fewest generated tokens, then longest
 * prompt, then latest admitted, until their cells cover the shortage (SGLang's order; vector V24). What is already on its
 * way to being free counts, so one need never takes two rounds of victims (K13).
 */
export function overflowVictims(state: State, shortTokens: number): readonly string[] {
  const victims: string[] = [];
  let short = shortTokens - state.ledger.pendingFree;
  for (const request of [...state.running.values()].toSorted(overflowOrder)) {
    if (short <= 0) break;
    victims.push(request.spec.id);
    short -= request.cells;
  }
  return victims;
}

export function overflowOrder(a: RequestState, b: RequestState): number {
  return generatedTokens(a) - generatedTokens(b) || b.spec.ownPromptTokens - a.spec.ownPromptTokens || b.admitSeq - a.admitSeq;
}
