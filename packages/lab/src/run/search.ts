import { createRng, tinyInstance, tryInstances, type Player, type Tried } from "@topas/sim";
import type { Step } from "../presets/preset.ts";
import type { Falsification } from "../results/schema.ts";
import { mean, quantile } from "../stats/describe.ts";

/** Who is searched against whom: the policies, then the simple rule, which is measured against the optimum too. */
const PLAYERS: readonly Player[] = [
  { name: "topas", policy: "topas" },
  { name: "topas-guarded", policy: "topas-guarded" },
  { name: "kv-index-safe", policy: "kv-index-safe" },
  { name: "task-fcfs-o", policy: "task-fcfs", changes: { fit: "over" } },
];
const SIMPLE = PLAYERS.length - 1;
const PIECE = 250;
const CURVE = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1];

export interface SearchJob {
  readonly kind: "search";
  readonly from: number;
  readonly count: number;
}

export function searchJobs({ instances }: Extract<Step, { kind: "search" }>): SearchJob[] {
  return Array.from({ length: Math.ceil(instances / PIECE) }, (_, i) => {
    const from = 1 + PIECE * i;
    return { kind: "search", from, count: Math.min(PIECE, instances + 1 - from) };
  });
}

export function doSearch({ from, count }: SearchJob): readonly Tried[] {
  return tryInstances(PLAYERS, from, count);
}

/** Worst, mean and large ratios of every policy to the simple rule and to the optimum; the worst instance in full. */
export function searched({ test, question }: Extract<Step, { kind: "search" }>, tried: readonly Tried[]): Falsification {
  const rows = PLAYERS.flatMap(({ name }, player) =>
    (["task-fcfs-o", "optimum"] as const).flatMap((reference) => {
      if (player === SIMPLE && reference === "task-fcfs-o") return [];
      const ratios = tried.map(({ means, optimum }) => means[player]! / (reference === "optimum" ? optimum : means[SIMPLE]!));
      const worst = Math.max(...ratios);
      const { seed } = tried[ratios.indexOf(worst)]!;
      const above = (limit: number): number => ratios.filter((ratio) => ratio > limit + 1e-9).length / ratios.length;
      return [
        {
          where: `${tried.length} random tiny instances`,
          policy: name,
          baseline: reference,
          worst,
          mean: mean(ratios),
          aboveTenth: above(1.1),
          aboveHalf: above(1.5),
          worstSeed: seed,
          worstInstance: tinyInstance(createRng(seed)),
          worstMeans: tried[seed - tried[0]!.seed]!,
          quantiles: CURVE.map((p) => [p, quantile(ratios, p)]),
          verdict: `worst ${worst.toFixed(3)}`,
        },
      ];
    }),
  );
  const curve = rows.flatMap(({ policy, baseline, where, quantiles }) =>
    quantiles.map(([share, ratio]) => ({ where, verdict: "", curve: baseline, series: policy, ratio: ratio!, share: share! })),
  );
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return {
    test,
    question,
    verdict: rows
      .filter(({ baseline, policy }) => baseline === "optimum" || policy !== "task-fcfs-o")
      .map(({ policy, baseline, worst }) => `${policy} at worst ${worst.toFixed(2)} of ${baseline}`)
      .join("; "),
    detail: `${tried.length} instances, seeds ${tried[0]!.seed} to ${tried.at(-1)!.seed}, mean completion time of 2 or 3 tasks, best schedule by trying all. ${rows
      .map(
        (row) =>
          `${row.policy} to ${row.baseline}: mean ${row.mean.toFixed(3)}, above 1.1 in ${percent(row.aboveTenth)}, above 1.5 in ${percent(row.aboveHalf)}, worst ${row.worst.toFixed(3)} (seed ${row.worstSeed})`,
      )
      .join(
        ". ",
      )}. Worst of topas-guarded to the optimum: ${JSON.stringify(rows.find((row) => row.policy === "topas-guarded" && row.baseline === "optimum")!.worstInstance)}`,
    rows: [...rows, ...curve],
    charts: (["task-fcfs-o", "optimum"] as const).map((reference) => ({
      kind: "lines",
      title: `Ratio of mean completion time to ${reference === "optimum" ? "the best schedule" : reference}, tiny instances`,
      xLabel: "share of the instances that are at most this ratio",
      yLabel: "ratio",
      value: "ratio",
      over: "share",
      series: "series",
      only: { curve: reference },
      level: 1,
    })),
  };
}
