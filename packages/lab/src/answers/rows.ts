import type { Comparison, Falsification } from "../results/schema.ts";
import { geometricMean } from "../stats/describe.ts";

export type Chart = NonNullable<Falsification["charts"]>[number];

export const METRIC_NAMES: Readonly<Record<string, string>> = {
  jctMeanS: "mean task time",
  jctP99S: "p99 task time",
  throughputReqS: "requests per second",
  waitMaxS: "longest wait",
};

type Place = Pick<Comparison, "workload" | "arrival" | "load" | "budgetTokens" | "hostTier" | "setting">;

export function whereOf({ workload, arrival, load, budgetTokens, hostTier, setting }: Place): string {
  return `${workload}, ${arrival}, load ${load?.toFixed(2) ?? "-"}, B ${budgetTokens}, host ${hostTier}, ${setting}`;
}

export function rowOf(row: Comparison) {
  const { policy, baseline, metric, ratio, ci95, p, unstable, contendedShare, verdict } = row;
  return { where: whereOf(row), policy, baseline, metric, ratio, ci95: [...ci95], p, unstable, contendedShare, verdict };
}

/** Ratio and interval per setting and policy, against the baseline that does best there: one chart a metric. */
export function ratioCharts(metrics: readonly string[], against: string): Chart[] {
  return metrics.map((metric) => ({
    kind: "forest",
    title: `${METRIC_NAMES[metric] ?? metric}, ratio to ${against}`,
    xLabel: "ratio, 95 % interval; hollow: a row does not settle",
    yLabel: "",
    value: "ratio",
    series: "policy",
    only: { metric },
    level: 1,
  }));
}

export function settled(rows: readonly Comparison[]): readonly Comparison[] {
  return rows.filter(({ unstable }) => !unstable);
}

/** Pooled as in the texts: geometric mean over the settings in which both rows settle. */
export function pooled(rows: readonly Comparison[]): number | null {
  const ratios = settled(rows).map(({ ratio }) => ratio);
  return ratios.length === 0 ? null : geometricMean(ratios);
}

export function pooledText(rows: readonly Comparison[]): string {
  return pooled(rows)?.toFixed(3) ?? "no stable pair";
}

/** The number that follows a text; null: it is not there. */
export function numberAfter(text: string, within: string): number | null {
  const at = within.indexOf(text);
  const found = at < 0 ? null : /^\s*([\d.]+)/.exec(within.slice(at + text.length));
  return found === null ? null : Number(found[1]);
}
