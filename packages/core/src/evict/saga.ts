import type { Evict } from "../policy/policy.ts";
import { rebuildSeconds, useShare, waitsOf, wantedSessions } from "./session.ts";

const Z95 = 1.6448536269514722;
const CAP_SECONDS = 300;
/** Kept while no wait of the tool is known, seconds. */
const UNKNOWN_SECONDS = 2;

/** Factor on the TTL under pressure: 1 - m/2, m = clip((use - 0.7)/0.2, 0, 1) (vector V23). */
export function pressureFactor(use: number): number {
  return 1 - Math.min(1, Math.max(0, (use - 0.7) / 0.2)) / 2;
}

/** 95th percentile of a lognormal fitted to the waits, at most 300 s. */
export function lognormal95(waits: readonly number[]): number {
  if (waits.length === 0) return UNKNOWN_SECONDS;
  const logs = waits.map((wait) => Math.log(Math.max(1e-3, wait)));
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length;
  return Math.min(CAP_SECONDS, Math.exp(mean + Z95 * Math.sqrt(variance)));
}

/** Share of the waits still possible after `elapsed` that end by `ttl`; one half when none is known. */
export function returnChance(waits: readonly number[], elapsed: number, ttl: number): number {
  if (elapsed > ttl) return 0;
  const open = waits.filter((wait) => wait > elapsed);
  if (waits.length === 0) return 0.5;
  return open.length === 0 ? 0 : open.filter((wait) => wait <= ttl).length / open.length;
}

/**
 * SAGA-like (arXiv 2605.00528; eviction weights ours): sessions are retained for the 95th percentile of their tool's waits,
 * halved under pressure; the lowest P(return before the TTL) x rebuild seconds leaves first.
 */
export const sagaTtl: Evict = {
  id: "saga-ttl",
  values(view) {
    const wanted = wantedSessions(view);
    const factor = pressureFactor(useShare(view));
    return (entry) => {
      if (entry.kind === "prefix") return 0;
      if (wanted.has(entry)) return rebuildSeconds(view, entry);
      const waits = waitsOf(view, entry);
      const chance = returnChance(waits, view.nowSeconds - entry.lastUseSeconds, lognormal95(waits) * factor);
      return chance * rebuildSeconds(view, entry);
    };
  },
};
