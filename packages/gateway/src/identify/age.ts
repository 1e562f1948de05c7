import { timestampMs, type Receipt } from "@topas/receipt";

/** How far a client may date its task back. Bounds what a wrong or a lying clock can win by aging (K76). */
export const ALLOWED_LEAD_SECONDS = 60;
/** Clocks that agree this well are not worth a count. */
const JITTER_SECONDS = 1;
const TOOL_WAIT_MAX_SECONDS = 86_400;

export interface TaskAge {
  /** In [0, allowed lead], never NaN. */
  readonly ageSeconds: number;
  /** The clock was ahead, unreadable, or further back than allowed. */
  readonly suspect: boolean;
}

/** Age of a task at first sight from the sender's clock: `arrival`, else `taskAge`, else 0. */
export function taskAge(receipt: Receipt | null, nowMs: number, leadSeconds: number): TaskAge {
  if (receipt?.arrival != null) return clampAge((nowMs - timestampMs(receipt.arrival)) / 1000, leadSeconds);
  if (receipt?.taskAge != null) return clampAge(inSeconds(receipt.taskAge), leadSeconds);
  return { ageSeconds: 0, suspect: false };
}

export function clampAge(ageSeconds: number, leadSeconds: number): TaskAge {
  if (Number.isNaN(ageSeconds)) return { ageSeconds: 0, suspect: true };
  if (ageSeconds < 0) return { ageSeconds: 0, suspect: ageSeconds < -JITTER_SECONDS };
  return ageSeconds > leadSeconds ? { ageSeconds: leadSeconds, suspect: true } : { ageSeconds, suspect: false };
}

/** Past its own validity, the clock's error allowed for. An unreadable time never expires. */
export function isExpired(receipt: Receipt, nowMs: number, leadSeconds: number): boolean {
  return receipt.validUntil != null && nowMs > timestampMs(receipt.validUntil) + leadSeconds * 1000;
}

/** A foreign point in time as monotonic seconds, between now and a day ahead; null when it is no time. */
export function toMonotonicSeconds(time: Parameters<typeof timestampMs>[0], nowMs: number, nowSeconds: number): number | null {
  const ahead = (timestampMs(time) - nowMs) / 1000;
  return Number.isNaN(ahead) ? null : nowSeconds + Math.min(Math.max(ahead, 0), TOOL_WAIT_MAX_SECONDS);
}

export function inSeconds(estimate: { readonly value: number; readonly unit: "s" | "ms" }): number {
  return estimate.unit === "ms" ? estimate.value / 1000 : estimate.value;
}
