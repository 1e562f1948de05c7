import * as z from "zod";
import { AMOUNT_MAX } from "../names.ts";
import { maybe } from "./text.ts";
import { Timestamp } from "./timestamp.ts";

/** A finite number from 0 to 1e12. */
export const Amount = z.number().min(0).max(AMOUNT_MAX);

/** How the sender knows: it was told (`declared`), it measured (`observed`), or it reasoned (`inferred`). */
export const EstimateSource = z.enum(["declared", "observed", "inferred"]);

/** Spread of the same quantity, in the estimate's own unit. */
export const Spread = z.object({ p50: maybe(Amount), p90: maybe(Amount), stddev: maybe(Amount) });

/** A number is never sent bare: unit, source and time go with it, so that a receiver can weigh it and let it expire. */
function estimate<const Units extends readonly [string, ...string[]]>(units: Units) {
  return z.object({ value: Amount, unit: z.enum(units), source: EstimateSource, asOf: Timestamp, spread: maybe(Spread) });
}

export const DurationEstimate = estimate(["s", "ms"]);
/** Path and work left: LLM service time, or plain calls when the orchestrator cannot know service times. */
export const RemainingEstimate = estimate(["s", "ms", "calls"]);
export const TokensEstimate = estimate(["tokens"]);
/** Further calls that will need the same prefix soon: their expected number, or the probability of at least one. */
export const ReuseEstimate = estimate(["calls", "probability"]);

export type DurationEstimate = z.infer<typeof DurationEstimate>;
export type RemainingEstimate = z.infer<typeof RemainingEstimate>;
export type TokensEstimate = z.infer<typeof TokensEstimate>;
export type ReuseEstimate = z.infer<typeof ReuseEstimate>;
