import * as z from "zod";

/** Largest number of milliseconds a Date can hold. */
const EPOCH_MS_MAX = 8.64e15;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * A reading of the sender's clock: milliseconds since the epoch, or ISO 8601 with a zone. It is a foreign clock: a receiver
 * may compare it with its own only inside a clamp. A string that is no time is accepted here and read as "not known" by
 * {@link timestampMs}, so that a broken clock costs the sender one field and not the whole receipt.
 */
export const Timestamp = z.union([z.number().min(0).max(EPOCH_MS_MAX), z.string().min(1).max(64)]);
export type Timestamp = z.infer<typeof Timestamp>;

/** Milliseconds since the epoch of the sender's clock; NaN when the value is no time. */
export function timestampMs(value: Timestamp): number {
  if (typeof value === "number") return value;
  return ISO.test(value) ? Date.parse(value) : Number.NaN;
}
