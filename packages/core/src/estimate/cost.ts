import { toBlocks, type CoreConfig, type Speeds } from "../config.ts";
import type { EntryState, RequestState } from "../state.ts";
import { generatedTokens } from "../state.ts";

function finite(seconds: number): number {
  return Number.isFinite(seconds) && seconds > 0 ? seconds : 0;
}

/** mu * tokens / B_swap, seconds: one way over the copy channel; 0 when unknown. */
export function copySeconds(speeds: Speeds, tokens: number): number {
  return finite((speeds.kvBytesPerToken * tokens) / speeds.copyBytesPerSecond);
}

/** A prefix enters at the cheaper of a copy from host (if a copy exists) and computing it: min(mu*l/B_swap, p*l), seconds. */
export function enterSeconds(config: CoreConfig, entry: EntryState): number {
  const compute = finite(config.speeds.prefillSecondsPerToken * entry.tokens);
  return entry.onHost ? Math.min(copySeconds(config.speeds, entry.tokens), compute) : compute;
}

/** A prefix leaves at mu*l/B_swap when a host copy has to be made, else free, seconds. */
export function leaveSeconds(config: CoreConfig, entry: EntryState): number {
  return config.hostTier && !entry.onHost && entry.kind === "prefix" ? copySeconds(config.speeds, entry.tokens) : 0;
}

/** What one preempted request costs to bring back, seconds (Eq. 9 generalised; vector V33). */
export function redoSeconds(config: CoreConfig, request: RequestState, bill: "actual" | "redecode"): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = config.speeds;
  const redo = bill === "redecode" ? "redecode" : config.redo;
  switch (redo) {
    case "redecode":
    case "unknown":
      return finite(h * generatedTokens(request));
    case "reprefill":
      return finite(p * (request.filledTokens + request.decodedTokens));
    case "swap":
      return 2 * copySeconds(config.speeds, toBlocks(config, request.filledTokens + request.decodedTokens));
  }
}
