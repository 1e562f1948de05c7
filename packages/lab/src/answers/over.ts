import type { Question } from "../presets/preset.ts";
import { bySetting } from "../results/compare.ts";
import type { Comparison, Falsification, Run } from "../results/schema.ts";
import { mean } from "../stats/describe.ts";
import { METRIC_NAMES, numberAfter, rowOf, whereOf, type Chart } from "./rows.ts";

/** H3: a ratio along a parameter named in the setting, from its largest value down: where its interval first contains 1. */
export function fades(
  { test, question, policies, metrics }: Question,
  found: readonly Comparison[],
  over: string,
): Falsification {
  const rows = found.flatMap((row) => {
    const x = numberAfter(over, row.setting);
    return x === null
      ? []
      : [{ ...rowOf(row), x, workload: row.workload, series: `${row.policy}, ${row.workload}`, ci95: row.ci95 }];
  });
  const names = [...new Set(rows.map(({ series }) => series))];
  const parts = metrics.flatMap((metric) =>
    names.map((name) => {
      const mine = rows.filter((row) => row.series === name && row.metric === metric).toSorted((a, b) => b.x - a.x);
      const gone = mine.find(({ ci95: [low, high] }) => low <= 1 && high >= 1);
      const steps = mine.map(
        (row) => `${over}${row.x}: ratio ${row.ratio.toFixed(3)} with ${(100 * row.contendedShare).toFixed(0)} % contended`,
      );
      const where = gone === undefined ? "never contains 1" : `first contains 1 at ${over}${gone.x}`;
      return { name, metric, where, text: `${name}, ${METRIC_NAMES[metric]}: ${steps.join(", ")}; interval ${where}` };
    }),
  );
  return {
    test,
    question,
    verdict: parts
      .filter(({ metric }) => metric === metrics[0])
      .map(({ name, where }) => `${name}: interval ${where}`)
      .join("; "),
    detail: `${policies.join(", ")}. ${parts.map(({ text }) => text).join(". ")}`,
    rows,
    charts: [
      ...metrics.map((metric): Chart =>
        lineChart(`${METRIC_NAMES[metric]}, ratio to the baseline`, over, "ratio", { metric }, 1),
      ),
      lineChart("Share of contended decisions", over, "contendedShare", { metric: metrics[0]! }),
    ],
  };
}

/** Figures of every policy along a parameter that its name carries (A3): times, waits, preemptions a task. */
export function shows({ test, question, policies }: Question, runs: readonly Run[], over: string): Falsification {
  const rows = bySetting(runs).flatMap((group) =>
    policies.flatMap((policy) => {
      const mine = group.filter((run) => run.policy === policy);
      const x = numberAfter(over, policy);
      if (mine.length === 0 || x === null) return [];
      const of = (pick: (run: Run) => number | null): number => mean(mine.flatMap((run) => pick(run) ?? []));
      const place = { ...group[0]!, setting: group[0]!.options.setting };
      return [
        {
          where: whereOf(place),
          verdict: mine.some(({ unstable }) => unstable) ? "does not settle" : "settles",
          policy,
          x,
          series: `${policy.slice(0, policy.indexOf(over)).trim()} @${group[0]!.load?.toFixed(2) ?? "-"}`,
          jctMeanS: of(({ metrics }) => metrics.jctMeanS),
          jctP99S: of(({ metrics }) => metrics.jctP99S),
          waitMaxS: of(({ metrics }) => metrics.waitMaxS),
          preemptionsPerTask: of(({ metrics }) =>
            metrics.preemptions === null ? null : metrics.preemptions / Math.max(1, metrics.tasks),
          ),
          starved: of(({ metrics }) => metrics.starved),
        },
      ];
    }),
  );
  const most = (of: (row: (typeof rows)[number]) => number): string => {
    const top = rows.toSorted((a, b) => of(b) - of(a))[0];
    return top === undefined ? "not measured" : `${of(top).toFixed(1)} (${top.policy}, ${top.series.split("@")[1]})`;
  };
  const starved = rows.reduce((sum, row) => sum + row.starved, 0);
  return {
    test,
    question,
    verdict: `${starved === 0 ? "no call starves" : `${starved.toFixed(1)} calls starve per seed`}; most preemptions a task ${most((row) => row.preemptionsPerTask)}; longest wait ${most((row) => row.waitMaxS)} s`,
    detail: rows
      .map(
        (row) =>
          `${row.policy} @${row.series.split("@")[1]}: p99 ${row.jctP99S.toFixed(0)} s, wait ${row.waitMaxS.toFixed(0)} s, ${row.preemptionsPerTask.toFixed(2)} preemptions a task, ${row.verdict}`,
      )
      .join("; "),
    rows,
    charts: [
      lineChart("Preemptions a task", over, "preemptionsPerTask"),
      lineChart("Longest wait of a call, seconds", over, "waitMaxS"),
      lineChart("p99 task time, seconds", over, "jctP99S"),
    ],
  };
}

function lineChart(title: string, over: string, value: string, only: Record<string, string> = {}, level?: number): Chart {
  const chart = { kind: "lines", title, xLabel: over.trim(), yLabel: "", value, over: "x", series: "series", only } as const;
  return level === undefined ? chart : { ...chart, level };
}
