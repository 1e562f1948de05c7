import type { Metrics } from "./metrics.ts";
import type { RunLog } from "./run-log.ts";

/**
 * Time means of what the cache held. A step's figures hold from its start to the start of the next, since nothing moves
 * without a step; batch counts only time in steps.
 */
export function occupancyOf(
  log: RunLog,
  fromSeconds: number,
): Pick<Metrics, "kvOccupancy" | "pinnedShare" | "pinnedPrefixShare" | "batchMean" | "gpuBusyHours"> {
  const { steps, endSeconds, engine } = log;
  if (steps === undefined)
    return { kvOccupancy: null, pinnedShare: null, pinnedPrefixShare: null, batchMean: null, gpuBusyHours: null };
  let total = 0;
  let held = 0;
  let pinned = 0;
  let busy = 0;
  let batch = 0;
  const byPinned: number[] = [];
  let tellsPinned = false;
  for (const [i, step] of steps.entries()) {
    const until = steps[i + 1]?.atSeconds ?? endSeconds;
    const seconds = Math.max(0, until - Math.max(fromSeconds, step.atSeconds));
    const running = Math.max(0, Math.min(until, step.atSeconds + step.seconds) - Math.max(fromSeconds, step.atSeconds));
    total += seconds;
    held += step.heldTokens * seconds;
    busy += running;
    batch += (step.decodes + step.chunks) * running;
    if (step.pinnedTokens !== undefined) {
      tellsPinned = true;
      pinned += step.pinnedTokens * running;
    }
    if (step.pinnedPrefixes !== undefined) byPinned[step.pinnedPrefixes] = (byPinned[step.pinnedPrefixes] ?? 0) + running;
  }
  const share = (sum: number, of: number): number | null => (of > 0 ? sum / of : null);
  return {
    kvOccupancy: share(held, total * engine.budgetTokens),
    pinnedShare: tellsPinned ? share(pinned, total * engine.budgetTokens) : null,
    pinnedPrefixShare:
      byPinned.length === 0 ? null : Array.from(byPinned, (seconds) => (seconds ?? 0) / Math.max(busy, Number.MIN_VALUE)),
    batchMean: share(batch, busy),
    gpuBusyHours: (busy * engine.devices) / 3_600,
  };
}
