import * as z from "zod";
import { DurationEstimate, TokensEstimate } from "./estimate.ts";
import { Text, maybe } from "./text.ts";

const COUNT_MAX = 100_000;

/** Bounds of something that repeats. `mean` may not exceed `max` (checked by `checkGraph`). */
const max = z.int().min(1).max(COUNT_MAX);
const mean = z.number().min(0).max(COUNT_MAX);

/** Absent: one call ends the stage. Present: a ReAct stage of several calls. */
export const Rounds = z.object({ max, mean });

/** When a stage with several predecessors may start; `all` when not said. A skipped branch never makes a join fail. */
export const Join = z.enum(["all", "any_success", "all_done"]);

export const Stage = z.object({
  id: Text,
  agent: maybe(Text),
  rounds: maybe(Rounds),
  join: maybe(Join),
  /** LLM service of the whole stage, queueing and tool time excluded. */
  expectedService: maybe(DurationEstimate),
  /** Output of one call of the stage. */
  expectedOutputTokens: maybe(TokensEstimate),
});

/** What became of a stage; a stage that is not named is still to come or under way. */
export const StageStatus = z.object({ stage: Text, state: z.enum(["done", "failed", "skipped"]) });

export const Loop = z.object({ stages: z.array(Text).min(1).max(1_000), max, mean });

export type Stage = z.infer<typeof Stage>;
export type StageStatus = z.infer<typeof StageStatus>;
export type Loop = z.infer<typeof Loop>;
