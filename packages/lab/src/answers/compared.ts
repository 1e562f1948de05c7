import type { Question } from "../presets/preset.ts";
import type { Comparison, Falsification } from "../results/schema.ts";
import { METRIC_NAMES, pooledText, ratioCharts, rowOf, whereOf } from "./rows.ts";

/** Wins, ties and losses per policy, pooled over settings. */
export function compared(
  { test, question, policies, baselines, metrics }: Question,
  found: readonly Comparison[],
): Falsification {
  const parts = policies.flatMap((policy) => {
    const mine = found.filter((row) => row.policy === policy);
    if (mine.length === 0) return [];
    const count = (verdict: Comparison["verdict"]): number => mine.filter((row) => row.verdict === verdict).length;
    const of = (metric: string): string => pooledText(mine.filter((row) => row.metric === metric));
    const [wins, loses] = [count("wins"), count("loses")];
    const verdict =
      loses > 0 && wins > 0 ? "mixed" : loses > 0 ? "loses" : wins === mine.length ? "wins" : wins > 0 ? "wins or ties" : "ties";
    const tally = `wins ${wins}, ties ${count("ties")}, loses ${loses} of ${mine.length}`;
    const ratios = metrics.map((metric) => `${METRIC_NAMES[metric] ?? metric} ${of(metric)}`).join(", ");
    return [{ policy, verdict, text: `${policy}: ${tally}; pooled ratio of ${ratios}` }];
  });
  return {
    test,
    question,
    verdict: parts.map(({ policy, verdict }) => `${policy} ${verdict}`).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. Pooled: geometric mean over settings in which both rows settle.`,
    rows: found.map(rowOf),
    charts: ratioCharts(metrics, against(baselines)),
  };
}

/** The settings in order, from the mildest: where each policy is first worse than the baseline by more than its interval. */
export function firstBehind(question: Question, found: readonly Comparison[]): Falsification {
  const first = question.policies.map((policy) => {
    const lost = found.filter((row) => row.policy === policy && row.verdict === "loses" && !row.unstable);
    return { policy, lost, at: lost[0] === undefined ? null : found.indexOf(lost[0]) };
  });
  const earliest = first.flatMap(({ at }) => at ?? []).toSorted((a, b) => a - b)[0];
  const row = earliest === undefined ? null : found[earliest]!;
  const name = question.baselines.join(", ");
  const lists = first.map(({ policy, lost }) => {
    const said = lost.map((each) => `${METRIC_NAMES[each.metric]} ${each.ratio.toFixed(3)} at ${labelOf(each)}`);
    return `${policy}: ${said.length === 0 ? "never behind" : `behind in ${said.join("; ")}`}`;
  });
  const whole = compared(question, found);
  return {
    ...whole,
    verdict:
      row === null
        ? `no policy falls behind ${name}`
        : `first behind ${name}: ${row.policy}, ${METRIC_NAMES[row.metric]} ${row.ratio.toFixed(3)}, at ${labelOf(row)}`,
    detail: `${lists.join(". ")}. ${whole.detail}`,
  };
}

/** Within the limit of the baseline, both ways, in every setting. */
export function within(question: Question, found: readonly Comparison[], limit: number): Falsification {
  const outside = found.filter(({ ratio, ci95 }) => Math.abs(ratio - 1) > limit && (ci95[0] > 1 || ci95[1] < 1));
  const worse = outside.filter(({ ratio }) => ratio > 1);
  const worst = found.toSorted((a, b) => Math.abs(b.ratio - 1) - Math.abs(a.ratio - 1))[0]!;
  const share = Math.max(...found.map(({ contendedShare }) => contendedShare));
  return {
    test: question.test,
    question: question.question,
    verdict: outside.length === 0 ? "holds" : "does not hold",
    detail: `${outside.length} of ${found.length} pairs differ by more than ${100 * limit} % with an interval that leaves out 1, ${worse.length} of them to the worse; farthest ${worst.policy} against ${worst.baseline}, ${worst.metric} ${worst.ratio.toFixed(3)} on ${worst.workload}; at most ${(100 * share).toFixed(0)} % of decisions contended`,
    rows: found.map(rowOf),
    charts: ratioCharts(question.metrics, against(question.baselines)),
  };
}

/** Against the best of the baselines in each setting, chosen afterwards: worse by no more than the limit, in every setting. */
export function notWorseThanBest(question: Question, found: readonly Comparison[], limit: number): Falsification {
  const { test, question: asked, policies, metrics } = question;
  const groups = new Map<string, Comparison>();
  for (const row of found) {
    const key = `${row.policy} ${row.metric} ${whereOf(row)}`;
    const hardest = groups.get(key);
    if (hardest === undefined || row.ratio > hardest.ratio) groups.set(key, row);
  }
  const rows = [...groups.values()];
  const parts = policies.map((policy) => {
    const mine = rows.filter((row) => row.policy === policy);
    const counted = mine.filter(({ unstable }) => !unstable);
    const outside = counted.filter(({ ratio }) => ratio > 1 + limit);
    const sure = outside.filter(({ ci95 }) => ci95[0] > 1);
    const worst = counted.toSorted((a, b) => b.ratio - a.ratio)[0];
    const far =
      worst === undefined
        ? "no stable pair"
        : `worst ${worst.ratio.toFixed(3)} of ${worst.baseline} at ${labelOf(worst)}, ${METRIC_NAMES[worst.metric]}`;
    return {
      verdict: counted.length === 0 ? "not measured" : outside.length === 0 ? "holds" : "does not hold",
      text: `${policy}: above ${100 * limit} % in ${outside.length} of ${counted.length} that settle, in ${sure.length} with an interval above 1; ${far}`,
    };
  });
  return {
    test,
    question: asked,
    verdict: parts.map(({ verdict }, i) => `${policies[i]!} ${verdict}`).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. Best of ${question.baselines.length} rows chosen per setting and metric, which favours them.`,
    rows: rows.map(rowOf),
    charts: ratioCharts(metrics, "the best row"),
  };
}

export function labelOf({ workload, load, hostTier, setting }: Comparison): string {
  return `${workload}, load ${load?.toFixed(2) ?? "-"}, host ${hostTier}, ${setting}`;
}

function against(baselines: readonly string[]): string {
  return baselines.length === 1 ? baselines[0]! : "the best of the rows it is asked against";
}
