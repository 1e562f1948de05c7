import type { Question } from "../presets/preset.ts";
import { bestOf, bySetting, compare } from "../results/compare.ts";
import { TASK_TIMES } from "../results/metrics.ts";
import type { Comparison, Falsification, Run } from "../results/schema.ts";
import { pooled, ratioCharts, rowOf } from "./rows.ts";

/**
 * The aim against the strongest fair simple policy: same engine, reserve and limits, skips what does not fit, best of its setting
 * on the metric. Settings from a load on, both rows settling; the mean has to fall by so many per cent with p99 not worse.
 */
export function againstFair(question: Question, runs: readonly Run[], percent: number, fromLoad: number): Falsification {
  const { test, question: asked, policies, baselines } = question;
  const groups = bySetting(runs).filter((group) => (group[0]!.load ?? 0) >= fromLoad - 1e-9);
  const rows = groups.flatMap((group) =>
    policies.flatMap((policy) =>
      TASK_TIMES.flatMap((metric): Comparison[] => {
        const fair = baselines.filter((name) => compare(group, policy, name, metric)?.sameEngine === true);
        const best = bestOf(group, fair, metric);
        return best === null ? [] : [compare(group, policy, best, metric)!];
      }),
    ),
  );
  const parts = policies.map((policy) => {
    const of = (metric: string): readonly Comparison[] => rows.filter((row) => row.policy === policy && row.metric === metric);
    const [mean, p99] = [pooled(of("jctMeanS")), pooled(of("jctP99S"))];
    if (mean === null || p99 === null)
      return { policy, met: "not measured", text: `${policy}: no setting in which both rows settle` };
    const met = 1 - mean >= percent / 100 - 1e-9 && p99 <= 1 + 1e-9;
    const names = [...new Set(of("jctMeanS").map(({ baseline }) => baseline))].join(", ");
    const counted = of("jctMeanS").filter(({ unstable }) => !unstable).length;
    const text = `${policy}: mean ${reduction(mean)}, p99 ${reduction(p99)}, pooled over ${counted} of ${of("jctMeanS").length} settings against ${names}`;
    return { policy, met: met ? "met" : "not met", text };
  });
  return {
    test,
    question: asked,
    verdict: parts.map(({ policy, met }) => `${policy} ${met}`).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. Aim: mean at least ${percent} % lower, p99 not worse; load >= ${fromLoad}.`,
    rows: rows.map(rowOf),
    charts: ratioCharts(TASK_TIMES, "the strongest fair simple policy"),
  };
}

/** Each policy against its own form that knows the lengths, pair by pair: pooled excess of the mean, at most so many per cent. */
export function clairvoyant(question: Question, found: readonly Comparison[], percent: number): Falsification {
  const { test, question: asked, policies, baselines, metrics } = question;
  const pairs = policies.map((policy, i) => ({ policy, baseline: baselines[i]! }));
  const mine = found.filter((row) => pairs.some(({ policy, baseline }) => row.policy === policy && row.baseline === baseline));
  const parts = pairs.map(({ policy, baseline }) => {
    const of = (metric: string): number | null => pooled(mine.filter((row) => row.policy === policy && row.metric === metric));
    const [mean, p99] = [of("jctMeanS"), of("jctP99S")];
    if (mean === null) return { policy, met: "not measured", text: `${policy}: no setting in which both rows settle` };
    const tail = p99 === null ? "" : `, p99 ${excess(p99)}`;
    return {
      policy,
      met: mean - 1 <= percent / 100 + 1e-9 ? "met" : "not met",
      text: `${policy} over ${baseline}: mean ${excess(mean)}${tail}`,
    };
  });
  return {
    test,
    question: asked,
    verdict: parts.map(({ policy, met }) => `${policy} ${met}`).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. Aim: at most ${percent} % above.`,
    rows: mine.map(rowOf),
    charts: ratioCharts(metrics, "its clairvoyant form"),
  };
}

function reduction(ratio: number): string {
  const percent = 100 * (1 - ratio);
  return percent >= 0 ? `${percent.toFixed(1)} % lower` : `${(-percent).toFixed(1)} % higher`;
}

function excess(ratio: number): string {
  return `${(100 * (ratio - 1)).toFixed(1)} %`;
}
