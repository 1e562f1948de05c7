import type { EntryId } from "./events.ts";
import { serviceSeconds } from "./estimate/estimator.ts";
import { generatedTokens, type RequestState } from "./state.ts";
import { costTokens, type View } from "./view.ts";

/** When a request that does not fit now is expected to fit, if nobody new is admitted. */
export interface Shadow {
  /** Seconds from now at which expected completions make it fit; 0: it fits now. */
  readonly shadowSeconds: number;
  /** Tokens left over at that time. */
  readonly extraTokens: number;
}

/** Completions in order of their expected remaining tokens, until the freed promises and prefixes cover cost(r). */
export function shadowOf(view: View, request: RequestState): Shadow {
  const cost = costTokens(view, request);
  let free = view.roomTokens;
  const users = new Map<EntryId, number>();
  for (const { prefix } of view.running) if (prefix !== null) users.set(prefix, (users.get(prefix) ?? 0) + 1);
  const ends = view.running
    .map((running) => ({ running, tokens: view.estimator.remainingTokens(running) }))
    .toSorted((a, b) => a.tokens - b.tokens || generatedTokens(b.running) - generatedTokens(a.running));
  const { decodeSecondsPerToken } = view.state.config.speeds;
  let shadow = 0;
  for (const { running, tokens } of ends) {
    if (cost <= free) break;
    free += running.promisedTokens;
    shadow = tokens * decodeSecondsPerToken;
    if (running.prefix === null) continue;
    const left = users.get(running.prefix)! - 1;
    users.set(running.prefix, left);
    if (left === 0 && running.prefix !== request.prefix) free += view.prefixOf(running)?.tokens ?? 0;
  }
  return { shadowSeconds: shadow, extraTokens: Math.max(0, free - cost) };
}

/** Seconds that the call itself is expected to take from its admission to its end. */
export function endSeconds(view: View, request: RequestState): number {
  return serviceSeconds(view.state, request.spec.ownPromptTokens, view.estimator.remainingTokens(request));
}
