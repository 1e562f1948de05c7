import { bySetting, settingId } from "../results/compare.ts";
import type { MetricName } from "../results/metrics.ts";
import type { Results, Run } from "../results/schema.ts";
import { geometricMean, mean } from "../stats/describe.ts";

/** One policy in one setting, means over seeds. */
export interface Row {
  readonly policy: string;
  readonly condition: string;
  readonly engine: string;
  readonly fit: string;
  readonly reserve: string;
  readonly figures: Readonly<Record<MetricName, number | null>>;
  readonly perSeed: Readonly<{ jctMeanS: readonly number[] }>;
  /** Share of time with 0, 1, 2, ... prefixes pinned. */
  readonly pinned: readonly number[];
  readonly unstable: boolean;
  readonly seeds: number;
  readonly error: string | null;
}

export interface Setting {
  /** See settingId. */
  readonly id: string;
  readonly table: string;
  readonly label: string;
  readonly workload: string;
  readonly load: number | null;
  readonly rest: string;
  readonly maxTokens: string;
  readonly rows: readonly Row[];
}

const SHOWN: readonly MetricName[] = [
  "jctMeanS",
  "jctP95S",
  "jctP99S",
  "slowdownP99",
  "ttftMeanS",
  "ttftP99S",
  "itlMeanMs",
  "throughputReqS",
  "goodputTaskS",
  "prefixHitRate",
  "preemptions",
  "redoneTokens",
  "kvOccupancy",
  "pinnedShare",
  "batchMean",
  "waitMaxS",
  "starved",
  "overtakesMax",
  "successRate",
  "gpuHours",
  "energyJ",
  "contendedShare",
];

export function settingsOf(runs: readonly Run[]): Setting[] {
  return bySetting(runs).map((group) => {
    const { workload, arrival, load, budgetTokens, hostTier, options } = group[0]!;
    const rest = `${arrival}, B ${budgetTokens}, host ${hostTier}, ${options.setting}`;
    const at = load === null ? "" : `, load ${load.toFixed(2)}`;
    const rate = options.ratePerSecond === null ? "" : ` (${options.ratePerSecond.toPrecision(3)} task/s)`;
    const names = [...new Set(group.map(({ policy }) => policy))];
    return {
      id: settingId({ workload, arrival, load, budgetTokens, hostTier, setting: options.setting }),
      table: options.table ?? "",
      label: `${workload}${at}${rate}`,
      workload,
      load,
      rest,
      maxTokens: String(options.maxTokens),
      rows: names.map((name) => rowOf(group.filter(({ policy }) => policy === name))),
    };
  });
}

function rowOf(runs: readonly Run[]): Row {
  const { policy, condition, options } = runs[0]!;
  const values = (metric: MetricName): number[] => runs.flatMap(({ metrics }) => metrics[metric] ?? []);
  const figures = Object.fromEntries(
    SHOWN.map((metric) => [metric, values(metric).length === 0 ? null : mean(values(metric))]),
  ) as Record<MetricName, number | null>;
  const shares = runs.flatMap(({ metrics }) => (metrics.pinnedPrefixShare === null ? [] : [metrics.pinnedPrefixShare]));
  const most = Math.max(0, ...shares.map((share) => share.length));
  return {
    policy,
    condition,
    engine: options.rules,
    fit: options.fit ?? "its own",
    reserve: options.reserve ?? "its own",
    figures,
    perSeed: { jctMeanS: values("jctMeanS") },
    pinned: Array.from({ length: most }, (_, k) => mean(shares.map((share) => share[k] ?? 0))),
    unstable: runs.some(({ unstable }) => unstable),
    seeds: runs.length,
    error: runs.find(({ error }) => error !== null)?.error ?? null,
  };
}

/** The first paragraph: what is won, what is lost, and under which conditions. */
export function summaryOf(results: Results): string {
  const { comparisons } = results;
  const policies = [...new Set(comparisons.map(({ policy }) => policy))];
  const sentences = policies.map((policy) => {
    const said = (["jctMeanS", "jctP99S"] as const).map((metric) => {
      const shipped = comparisons.filter((row) => row.policy === policy && row.metric === metric && row.bestShipped);
      const fair = comparisons.filter((row) => row.policy === policy && row.metric === metric && row.bestFair);
      const name = metric === "jctMeanS" ? "mean" : "p99";
      return `${name} ${tally(shipped)} against the best shipped baseline${fair.length === 0 ? "" : `, ${tally(fair)} against the best row with the same reserve that skips`}`;
    });
    return `${policy}: ${said.join("; ")}.`;
  });
  const varying = comparisons.filter((row) => row.policy === "topas" && row.bestShipped && /-cv\d/.test(row.workload));
  const hard = varying.some(({ verdict }) => verdict === "loses")
    ? "The search as published loses to a shipped baseline once lengths vary. "
    : "";
  return `${hard}${sentences.join(" ")}`;
}

function tally(rows: readonly { readonly verdict: string; readonly ratio: number; readonly unstable: boolean }[]): string {
  const count = (verdict: string): number => rows.filter((row) => row.verdict === verdict).length;
  const settled = rows.filter(({ unstable }) => !unstable);
  const pooled = settled.length === 0 ? "" : `, pooled ratio ${geometricMean(settled.map(({ ratio }) => ratio)).toFixed(3)}`;
  return `wins ${count("wins")}, ties ${count("ties")}, loses ${count("loses")} of ${rows.length}${pooled}`;
}

export function shown(value: number | null, digits = 1): string {
  return value === null ? "-" : value.toFixed(digits);
}

/** A live engine's times are short: two digits below ten seconds. */
export function seconds(value: number | null, digits = 1): string {
  return shown(value, value !== null && value < 10 ? 2 : digits);
}

export const EVIDENCE_LABELS: Readonly<Record<Results["evidence"], string>> = {
  simulated: "simulated (calibrated against published measurements)",
  "real-cpu": "real engine on CPU (llama.cpp, real KV cache; the manifest names the model)",
  "real-gpu": "real engine on GPU",
};
