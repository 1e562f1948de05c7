import type * as z from "zod";
import { DurationEstimate } from "./estimate.ts";

/** Seconds lost when this call is preempted now and finished later. A receiver that knows its engine uses its own figure. */
export const PreemptCost = DurationEstimate;
/** Seconds to bring the prefix of this call back once it has been evicted. */
export const ReloadCost = DurationEstimate;

export type PreemptCost = z.infer<typeof PreemptCost>;
export type ReloadCost = z.infer<typeof ReloadCost>;
