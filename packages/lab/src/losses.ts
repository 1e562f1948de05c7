import type { Comparison } from "./results/schema.ts";

export interface Loss {
  readonly where: string;
  readonly policy: string;
  readonly baseline: string;
  readonly metric: string;
  readonly ratio: number;
  readonly ci95: readonly [number, number];
  readonly unstable: boolean;
}

/** F4: every setting and metric in which a joint policy loses to some other scheduler by more than its interval, worst first. */
export function lossesOf(comparisons: readonly Comparison[]): Loss[] {
  return comparisons
    .filter(({ verdict, rival }) => verdict === "loses" && rival)
    .map(({ workload, arrival, load, budgetTokens, hostTier, setting, ...row }) => {
      const where = `${workload}, ${arrival}, load ${load?.toFixed(2) ?? "-"}, B ${budgetTokens}, host ${hostTier}, ${setting}`;
      const { policy, baseline, metric, ratio, ci95, unstable } = row;
      return { where, policy, baseline, metric, ratio, ci95, unstable };
    })
    .toSorted((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
}
