import type { Question } from "../presets/preset.ts";
import { bySetting } from "../results/compare.ts";
import type { MetricName } from "../results/metrics.ts";
import type { Falsification, Run } from "../results/schema.ts";
import { mean } from "../stats/describe.ts";
import { kendall } from "../stats/kendall.ts";

/** A6: whether settings (engine profiles, budgets) rank the policies alike; Kendall's tau of every pair of settings. */
export function ranks({ test, question, policies, baselines, metrics }: Question, runs: readonly Run[]): Falsification {
  const metric: MetricName = metrics[0] ?? "jctMeanS";
  const names = [...new Set([...policies, ...baselines])];
  const all = bySetting(runs).map((group) => ({ group, parts: partsOf(group[0]!) }));
  const settings = all.flatMap(({ group, parts }) => {
    const figures = names.map((name) => mean(group.flatMap((run) => (run.policy === name ? (run.metrics[metric] ?? []) : []))));
    return figures.some(Number.isNaN)
      ? []
      : [{ label: parts.filter((part, i) => all.some((other) => other.parts[i] !== part)).join(" "), figures }];
  });
  const rows = settings.flatMap((a, i) =>
    settings.slice(i + 1).flatMap((b) => {
      const tau = kendall(a.figures, b.figures);
      if (Number.isNaN(tau)) return [];
      return { where: `${a.label} and ${b.label}`, verdict: `tau ${tau.toFixed(2)}`, tau, series: "tau" };
    }),
  );
  if (rows.length === 0)
    return {
      test,
      question,
      verdict: "not measured",
      detail: "fewer than two settings with every policy and a difference between them",
    };
  const [least, most] = [Math.min(...rows.map(({ tau }) => tau)), Math.max(...rows.map(({ tau }) => tau))];
  return {
    test,
    question,
    verdict: `Kendall's tau ${least.toFixed(2)} to ${most.toFixed(2)}`,
    detail: `${names.length} policies by ${metric} in ${settings.length} settings; ${rows.map(({ where, verdict }) => `${where}: ${verdict}`).join("; ")}`,
    rows,
    charts: [
      {
        kind: "forest",
        title: "Do two settings rank the policies alike? Kendall's tau by mean task time",
        xLabel: "tau; dashed line: the same order",
        yLabel: "",
        value: "tau",
        series: "series",
        level: 1,
      },
    ],
  };
}

/** What names a setting; a label keeps what differs between settings. */
function partsOf({ workload, load, budgetTokens, hostTier, options }: Run): string[] {
  const profile = options["profile"];
  return [
    workload,
    typeof profile === "string" ? profile : "",
    `load ${load?.toFixed(2) ?? "-"}`,
    `B ${budgetTokens}`,
    `host ${hostTier}`,
  ];
}
