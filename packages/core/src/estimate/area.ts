import type { Speeds } from "../config.ts";

/** s(q, o) = p*q + h*o: LLM service of a call, seconds (algorithm 2.1, vector V14). */
export function callSeconds(speeds: Speeds, promptTokens: number, outputTokens: number): number {
  return speeds.prefillSecondsPerToken * promptTokens + speeds.decodeSecondsPerToken * outputTokens;
}

/** A(q, o) = h*(q*o + o^2/2) + p*q^2: KV held times time held, prefix excluded, token-seconds (algorithm 2.1, vector V14). */
export function callArea(speeds: Speeds, promptTokens: number, outputTokens: number): number {
  const grown = promptTokens * outputTokens + (outputTokens * outputTokens) / 2;
  return speeds.decodeSecondsPerToken * grown + speeds.prefillSecondsPerToken * promptTokens * promptTokens;
}
