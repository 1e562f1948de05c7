import type { Question } from "../presets/preset.ts";
import type { Comparison, Falsification, Run } from "../results/schema.ts";
import { geometricMean } from "../stats/describe.ts";
import { ratioCharts, rowOf, whereOf } from "./rows.ts";

/** Share of the first policy's gain over the first baseline that the other baselines reach by themselves (A4). */
export function recovers({ test, question, policies, baselines }: Question, found: readonly Comparison[]): Falsification {
  const [policy] = policies;
  const [stock, ...simple] = baselines;
  const settings = new Map<string, Comparison[]>();
  for (const row of found.filter((each) => each.policy === policy)) {
    const key = `${whereOf(row)} ${row.metric}`;
    settings.set(key, [...(settings.get(key) ?? []), row]);
  }
  const rows = [...settings.values()].flatMap((group) => {
    const base = group.find(({ baseline }) => baseline === stock);
    if (base === undefined || base.ratio >= 1) return [];
    return simple.flatMap((name) => {
      const other = group.find(({ baseline }) => baseline === name);
      if (other === undefined) return [];
      const share = (1 - base.ratio / other.ratio) / (1 - base.ratio);
      return [{ ...rowOf(base), verdict: `${name} reaches ${(100 * share).toFixed(0)} %`, simple: name, share }];
    });
  });
  if (rows.length === 0)
    return { test, question, verdict: "no gain to explain", detail: `${policy} gains nothing over ${stock}` };
  const most = Math.max(...rows.map(({ share }) => share));
  const per = simple.map((name) => {
    const shares = rows.filter((row) => row.simple === name).map(({ share }) => share);
    return `${name} ${shares.map((share) => `${(100 * share).toFixed(0)} %`).join(", ")}`;
  });
  return {
    test,
    question,
    verdict: `simple orders reach up to ${(100 * most).toFixed(0)} % of the gain`,
    detail: `${policy} over ${stock}; share that each reaches without it, per setting and metric: ${per.join("; ")}`,
    rows,
    charts: [...new Set(rows.map(({ metric }) => metric))].map((metric) => ({
      kind: "forest",
      title: `Share of the gain of ${policy} over ${stock} that simple orders reach, ${metric === "jctP99S" ? "p99" : "mean"}`,
      xLabel: "share; dashed line: all of it",
      yLabel: "",
      value: "share",
      series: "simple",
      only: { metric },
      level: 1,
    })),
  };
}

/** Pooled excess over each reference, and over the mean time alone, which no schedule can beat. Settings where both rows settle. */
export function regret(
  { test, question, policies, baselines, metrics }: Question,
  found: readonly Comparison[],
  runs: readonly Run[],
): Falsification {
  const excess = (ratios: readonly number[]): string =>
    ratios.length === 0 ? "no stable pair" : `${(100 * (geometricMean(ratios) - 1)).toFixed(1)} %`;
  const parts = policies.map((policy) => {
    const overs = baselines.map((baseline) => {
      const pairs = found.filter((row) => row.policy === policy && row.baseline === baseline && !row.unstable);
      return `${excess(pairs.map(({ ratio }) => ratio))} over ${baseline}`;
    });
    const alone = runs.flatMap(({ policy: name, unstable, metrics: { jctMeanS, aloneMeanS } }) =>
      name !== policy || unstable || jctMeanS === null || aloneMeanS === null ? [] : [jctMeanS / aloneMeanS],
    );
    return { policy, first: overs[0]!, text: `${policy}: ${[...overs, `${excess(alone)} over alone`].join(", ")}` };
  });
  return {
    test,
    question,
    verdict: parts.map(({ policy, first }) => `${policy} ${first}`).join("; "),
    detail: parts.map(({ text }) => text).join(". "),
    rows: found.map(rowOf),
    charts: ratioCharts(metrics, "the best reference"),
  };
}
