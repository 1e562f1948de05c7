import { historyOf } from "../history.ts";
import type { View } from "../view.ts";
import type { AllOptions } from "./baseline-options.ts";

export type FallbackReason = "coldAgent" | "searchTruncated" | "estimateError";

/**
 * Why a search or index policy should not be trusted now, so that lpm-task decides with the same reserve (algorithm 4.16): a
 * waiting agent with few own samples, too many truncated searches, estimates that are too wrong. null: trust it. An
 * exception in `decide` is the caller's to catch; `fallbackId` names who decides then.
 */
export function fallbackReason(view: View, options: AllOptions): FallbackReason | null {
  const { state } = view;
  for (const request of view.waiting) {
    const keys = state.tasks.get(request.spec.task)?.stages.get(request.spec.stage)?.keys;
    const samples = keys === undefined ? 0 : ownSamples(view, keys[0]!);
    if (samples < options.fallbackSamples) return "coldAgent";
  }
  const truncated = state.counters["searchTruncated"] ?? 0;
  if (truncated > options.fallbackTruncated * Math.max(1, state.admittingDecisions)) return "searchTruncated";
  const error = historyOf(state)?.outputError ?? 0;
  return options.fallbackError !== null && error > options.fallbackError ? "estimateError" : null;
}

/** lpm-task-g when serving, lpm-task-o in experiments. */
export function fallbackId(options: Pick<AllOptions, "fallback">): "lpm-task-o" | "lpm-task-g" {
  return options.fallback === "guarded" ? "lpm-task-g" : "lpm-task-o";
}

function ownSamples(view: View, key: string): number {
  return view.state.profile.stats.get(key)?.calls ?? 0;
}
