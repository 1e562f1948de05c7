import { bestOf, bySetting, compare, SHIPPED_BASELINES } from "../results/compare.ts";
import { findPreset } from "@topas/sim";
import { TASK_TIMES } from "../results/metrics.ts";
import type { Run, Target } from "../results/schema.ts";

interface Aim {
  readonly workload: string;
  readonly paper: readonly [mean: number | null, p99: number | null];
  readonly ours: readonly [mean: number, p99: number];
}

/** Reductions in per cent that the paper reports (arXiv 2608.25523), and those we set ourselves; same workloads with varying lengths. */
const AIMS: readonly Aim[] = [
  { workload: "paper-chain3", paper: [27.5, 31.7], ours: [30, 33] },
  { workload: "paper-dag4", paper: [39.8, 49.4], ours: [42, 50] },
  { workload: "paper-dag10", paper: [27.7, 30.8], ours: [30, 33] },
  { workload: "paper-sop", paper: [9.8, 4.5], ours: [15, 5] },
  { workload: "paper-tl", paper: [22, 26.6], ours: [25, 30] },
];

/** Our best joint policy against the best shipped baseline, per workload and metric; met or not. Each its own reserve only, at the rate of the preset where it ran. */
export function targetsOf(runs: readonly Run[]): Target[] {
  const groups = bySetting(runs);
  const atOwnRate = groups.filter((group) => group[0]!.options.ratePerSecond === findPreset(group[0]!.workload).ratePerSecond);
  return (atOwnRate.length > 0 ? atOwnRate : groups).flatMap((group) => {
    const { workload, options } = group[0]!;
    const aim = AIMS.find((each) => workload === each.workload || workload.startsWith(`${each.workload}-cv`));
    if (aim === undefined || !options.setting.includes("own reserve") || options.maxTokens !== "preset") return [];
    const joint = [...new Set(group.filter(({ condition }) => condition === "D").map(({ policy }) => policy))];
    return TASK_TIMES.flatMap((metric, i): Target[] => {
      const policy = bestOf(group, joint, metric);
      const baseline = bestOf(group, SHIPPED_BASELINES, metric);
      const row = policy === null || baseline === null ? null : compare(group, policy, baseline, metric);
      if (row === null) return [];
      const percent = (ratio: number): number => 100 * (1 - ratio);
      return [
        {
          workload: group[0]!.load === null ? workload : `${workload} at load ${group[0]!.load.toFixed(2)}`,
          metric,
          policy: row.policy,
          baseline: row.baseline,
          paperPercent: aim.paper[i]!,
          targetPercent: aim.ours[i]!,
          ourPercent: percent(row.ratio),
          ci95Percent: [Math.max(-1e6, percent(row.ci95[1])), percent(row.ci95[0])],
          met: percent(row.ratio) >= aim.ours[i]! - 1e-9,
          unstable: row.unstable,
        },
      ];
    });
  });
}
