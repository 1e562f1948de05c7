import { createPolicy } from "@topas/core";

/** Targets per decision, microseconds, at 30 agents and about 20 running calls: [p50, p99] at 10, 100, 1,000 and 10,000 waiting. */
const BARS = {
  index: [
    [20, 200],
    [20, 200],
    [30, 300],
    [50, 500],
  ],
  indexSwap: [
    [30, 200],
    [30, 300],
    [50, 500],
    [100, 1_000],
  ],
  keys: [
    [20, 200],
    [50, 300],
    [300, 2_000],
    [3_000, 6_000],
  ],
  search: [
    [300, 2_000],
    [500, 3_000],
    [2_000, 6_000],
    [5_000, 15_000],
  ],
} as const;

/** A shared runner may be three times slower than the core the targets are for. */
export const ALLOWANCE = 3;

export interface Bar {
  readonly p50Us: number;
  readonly p99Us: number;
}

/** The bar with its allowance, or null where none is set (other than about 20 running, or beyond 10,000 waiting). */
export function barFor(policy: string, waiting: number, running: number): Bar | null {
  const column = [10, 100, 1_000, 10_000].findIndex((most) => waiting <= most);
  if (column < 0 || running > 20) return null;
  const [p50, p99] = BARS[kindOf(policy)][column]!;
  return { p50Us: ALLOWANCE * p50, p99Us: ALLOWANCE * p99 };
}

function kindOf(id: string): keyof typeof BARS {
  if (id.startsWith("kv-index")) return id === "kv-index-nopre" ? "index" : "indexSwap";
  return createPolicy(id)?.order.kind === "search" ? "search" : "keys";
}
