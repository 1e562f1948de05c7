import type { Comparison, Results } from "../results/schema.ts";
import { geometricMean } from "../stats/describe.ts";
import { settingsOf, type Setting } from "./rows.ts";
import type { Figure, Point } from "./svg.ts";

export interface NamedFigure {
  readonly name: string;
  readonly figure: Figure;
}

const MOST_SERIES = 8;

/** Per table: task times as bars per workload, over load where it varies, and the ratio to the best shipped baseline. */
export function figuresOf(results: Results): NamedFigure[] {
  const settings = settingsOf(results.runs);
  const tables = [...new Set(settings.map(({ table }) => table))];
  const times = tables.flatMap((table) => {
    const mine = settings.filter((setting) => setting.table === table);
    const overLoad = [...groupBy(mine, ({ workload, rest }) => `${workload}, ${rest}`)].filter(([, group]) => group.length > 2);
    if (overLoad.length > 0 && overLoad.length <= 6) return overLoad.map(([, group]) => loadFigure(group));
    return chunks(mine, 4).map((group, i, all) => barFigure(`${table}${all.length > 1 ? ` (${i + 1})` : ""}`, group));
  });
  return [...times, ...ratioFigures(results.comparisons)].map((figure, i) => ({ name: `figure-${i + 1}`, figure }));
}

function barFigure(title: string, settings: readonly Setting[]): Figure {
  const names = chosen(settings);
  return {
    title: `Mean task time, ${title}`,
    xLabel: "bars: mean over seeds; whiskers: least and most of the seeds",
    yLabel: "seconds",
    groups: settings.map(({ workload, load }) => `${workload}${load === null ? "" : ` @${load.toFixed(2)}`}`),
    series: names.map((name) => ({
      name,
      points: settings.flatMap((setting, x): Point[] => {
        const row = setting.rows.find(({ policy }) => policy === name);
        const y = row?.figures.jctMeanS ?? null;
        if (row === undefined || y === null) return [];
        return [{ x, y, low: Math.min(...row.perSeed.jctMeanS), high: Math.max(...row.perSeed.jctMeanS) }];
      }),
    })),
  };
}

function loadFigure(settings: readonly Setting[]): Figure {
  return {
    title: `Mean task time over load, ${settings[0]!.workload}`,
    xLabel: `load, share of the measured capacity; ${settings[0]!.rest}`,
    yLabel: "seconds",
    series: chosen(settings).map((name) => ({
      name,
      points: settings.flatMap(({ load, rows }): Point[] => {
        const row = rows.find(({ policy }) => policy === name);
        const y = row?.figures.jctMeanS ?? null;
        if (row === undefined || y === null || load === null) return [];
        return [{ x: load, y, low: Math.min(...row.perSeed.jctMeanS), high: Math.max(...row.perSeed.jctMeanS) }];
      }),
    })),
  };
}

/** Candidate over the best shipped baseline, per setting, with its 95 % interval. */
function ratioFigures(comparisons: readonly Comparison[]): Figure[] {
  return (["jctMeanS", "jctP99S"] as const).flatMap((metric): Figure[] => {
    const rows = comparisons.filter((row) => row.bestShipped && row.metric === metric && row.setting.includes("own reserve"));
    const groups = [...groupBy(rows, ({ workload, load }) => `${workload} @${load?.toFixed(2) ?? ""}`)];
    if (groups.length === 0) return [];
    const policies = [...new Set(rows.map(({ policy }) => policy))].slice(0, MOST_SERIES);
    return chunks(groups, 5).map((part) => ({
      title: `${metric === "jctMeanS" ? "Mean" : "p99"} task time over that of the best shipped baseline`,
      xLabel: "below the dashed line: faster; whiskers: 95 % interval, cut at twice the bar",
      yLabel: "ratio",
      level: 1,
      groups: part.map(([name]) => name),
      series: policies.map((policy) => ({
        name: policy,
        points: part.flatMap(([, group], x): Point[] => {
          const mine = group.filter((row) => row.policy === policy);
          if (mine.length === 0) return [];
          const y = geometricMean(mine.map(({ ratio }) => ratio));
          return [
            {
              x,
              y,
              low: Math.min(...mine.map(({ ci95 }) => ci95[0])),
              high: Math.min(2 * Math.max(1, y), Math.max(...mine.map(({ ci95 }) => ci95[1]))),
            },
          ];
        }),
      })),
    }));
  });
}

/** At most eight policies: every joint one first, then the best of the others. */
function chosen(settings: readonly Setting[]): string[] {
  const rows = settings.flatMap((setting) => setting.rows);
  const byName = [...groupBy(rows, ({ policy }) => policy)].map(([name, group]) => ({
    name,
    joint: group[0]!.condition === "D",
    time: geometricMean(group.map(({ figures }) => figures.jctMeanS ?? 1e9)),
  }));
  const best = byName.toSorted((a, b) => Number(b.joint) - Number(a.joint) || a.time - b.time).slice(0, MOST_SERIES);
  const names = new Set(best.map(({ name }) => name));
  return byName.flatMap(({ name }) => (names.has(name) ? [name] : []));
}

function groupBy<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return groups;
}

function chunks<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, i) => values.slice(size * i, size * (i + 1)));
}
