import type { CallEnd } from "@topas/engines";
import type { Loop } from "../loop.ts";
import type { CallRecord } from "./records.ts";

const WINDOW_SECONDS = 10;
/** Retries of one window: so many, or this share of its calls, whichever is more (K50). */
const FEW = 3;
const SHARE = 0.1;

/** Calls and retries of the present window. */
export interface RetryWindow {
  sinceSeconds: number;
  calls: number;
  retries: number;
}

export const newRetryWindow = (): RetryWindow => ({ sinceSeconds: Number.NEGATIVE_INFINITY, calls: 0, retries: 0 });

/** A call goes to the engine for the first time. */
export function countSubmit(window: RetryWindow, nowSeconds: number): void {
  if (nowSeconds - window.sinceSeconds >= WINDOW_SECONDS)
    Object.assign(window, { sinceSeconds: nowSeconds, calls: 0, retries: 0 });
  window.calls++;
}

/**
 * May a call that ended so be sent once more? Only when the connection to the upstream failed before a status line, once a
 * call, within the budget: nothing of an answer can have been seen by anybody. True books the retry.
 */
export function takeRetry(loop: Loop, record: CallRecord, end: CallEnd): boolean {
  const { error } = end;
  const lost = end.reason === "failed" && error?.code === "upstream_unavailable" && error.retryable;
  if (!lost || record.retried || loop.closed) return false;
  const window = loop.retries;
  if (window.retries >= Math.max(FEW, SHARE * window.calls)) return false;
  window.retries++;
  record.retried = true;
  loop.counters_.upstream_retries_total++;
  return true;
}
