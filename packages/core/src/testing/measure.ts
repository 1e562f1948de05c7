import type { CallRecord } from "./rig-e.ts";

/** Nearest-rank percentile; `share` in (0, 1]. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** Seconds from arrival to the first admission; Infinity while it waits. */
export function waitOf(record: CallRecord): number {
  return (record.admittedSeconds ?? Infinity) - record.call.at;
}
