import { createRng } from "@topas/sim";
import { bootstrapRatio, type Pair } from "../stats/bootstrap.ts";
import { mean } from "../stats/describe.ts";
import { holm } from "../stats/holm.ts";
import { permutationP } from "../stats/permutation.ts";
import { MORE_IS_BETTER, type MetricName } from "./metrics.ts";
import type { Comparison, Run } from "./schema.ts";

/** The baselines of the paper's tables as shipped: head of line, on the controlled engine; and a live engine left to itself. */
export const SHIPPED_BASELINES = ["passthrough", "fcfs", "lpm", "task-fcfs", "las", "spf"];
const COMPARED: readonly MetricName[] = ["jctMeanS", "jctP99S", "ttftP99S", "throughputReqS", "slowdownP99"];

/** Runs of one setting, all policies and seeds. */
export function bySetting(runs: readonly Run[]): Run[][] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const { workload, arrival, load, budgetTokens, hostTier, options } = run;
    const key = JSON.stringify([workload, arrival, load, budgetTokens, hostTier, options.setting, options.ratePerSecond]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [run]);
    else group.push(run);
  }
  return [...groups.values()];
}

/** Every joint policy against every other row of its setting, on the metrics that decide. */
export function compareAll(runs: readonly Run[], metrics: readonly MetricName[] = COMPARED): Comparison[] {
  const found = bySetting(runs).flatMap((group) => {
    const policies = [...new Set(group.map(({ policy }) => policy))];
    const joint = policies.filter((name) => group.find(({ policy }) => policy === name)!.condition === "D");
    return metrics.flatMap((metric) => {
      const best = bestOf(group, SHIPPED_BASELINES, metric);
      return joint.flatMap((policy) => {
        const rows = policies.flatMap((baseline) =>
          baseline === policy ? [] : (compare(group, policy, baseline, metric) ?? []),
        );
        const fair = rows.flatMap((row) => (row.sameEngine && row.rival ? [row.baseline] : []));
        const bestFair = bestOf(group, fair, metric);
        return rows.map((row) => ({ ...row, bestShipped: row.baseline === best, bestFair: row.baseline === bestFair }));
      });
    });
  });
  const adjusted = holm(found.map(({ p }) => p));
  return found.map((row, i) => ({ ...row, pHolm: adjusted[i]! }));
}

/** The same for a comparison and for a run of its setting. */
export function settingId(
  row: Pick<Comparison, "workload" | "arrival" | "load" | "budgetTokens" | "hostTier" | "setting">,
): string {
  return JSON.stringify([row.workload, row.arrival, row.load, row.budgetTokens, row.hostTier, row.setting]);
}

/** One comparison within one setting; null when a row has no figure. The draws depend on the pairs alone. */
export function compare(group: readonly Run[], policy: string, baseline: string, metric: MetricName): Comparison | null {
  const rows = (name: string): Run[] => group.filter((run) => run.policy === name).toSorted((a, b) => a.seed - b.seed);
  const [ours, theirs] = [rows(policy), rows(baseline)];
  const pairs = ours.flatMap((run): Pair[] => {
    const other = theirs.find(({ seed }) => seed === run.seed);
    const [a, b] = [run.metrics[metric], other?.metrics[metric] ?? null];
    return a === null || b === null || !(a > 0 && b > 0) ? [] : [[a, b]];
  });
  const first = ours[0];
  if (first === undefined || theirs[0] === undefined || pairs.length === 0) return null;
  const rng = createRng(20_260_829);
  const { ratio, ci95 } = bootstrapRatio(pairs, rng.split("bootstrap"));
  const { workload, arrival, load, budgetTokens, hostTier, options } = first;
  const against = theirs[0].options;
  const share = (runs: readonly Run[]): number => mean(runs.map(({ metrics }) => metrics.contendedShare ?? 0));
  return {
    workload,
    arrival,
    load,
    budgetTokens,
    hostTier,
    setting: options.setting,
    policy,
    baseline,
    metric,
    ratio,
    ci95: [ci95[0], ci95[1]],
    p: permutationP(pairs, rng.split("permutation")),
    pHolm: 1,
    pairs: pairs.length,
    contendedShare: Math.max(share(ours), share(theirs)),
    unstable: [ours, theirs].some((runs) => runs.some(({ unstable }) => unstable)),
    sameEngine: options.rules === against.rules && options.reserve === against.reserve && against.fit !== "stop",
    rival: theirs[0].condition !== "D" && theirs[0].condition !== "reference",
    bestShipped: false,
    bestFair: false,
    verdict: verdictOf(ci95, MORE_IS_BETTER.has(metric)),
  };
}

/** Wins and loses need an interval that leaves out 1; everything else is "within variance" (algorithm 8). */
export function verdictOf(ci95: readonly [number, number], more = false): Comparison["verdict"] {
  if (ci95[1] < 1) return more ? "loses" : "wins";
  if (ci95[0] > 1) return more ? "wins" : "loses";
  return "ties";
}

/** Name of the best of these by mean over seeds; null when none ran. Taking the best of several favours the baseline. */
export function bestOf(group: readonly Run[], names: readonly string[], metric: MetricName): string | null {
  const sign = MORE_IS_BETTER.has(metric) ? -1 : 1;
  let best: { name: string; figure: number } | null = null;
  for (const name of names) {
    const values = group.flatMap(({ policy, metrics }) => (policy === name && metrics[metric] !== null ? [metrics[metric]] : []));
    if (values.length === 0) continue;
    const figure = sign * mean(values);
    if (best === null || figure < best.figure) best = { name, figure };
  }
  return best?.name ?? null;
}
