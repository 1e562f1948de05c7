import type { Falsification } from "../results/schema.ts";
import { forest, type ForestPoint } from "./forest.ts";
import { plot, type Series } from "./svg.ts";

type Row = NonNullable<Falsification["rows"]>[number];
type Chart = NonNullable<Falsification["charts"]>[number];

export interface DrawnFigure {
  readonly id: string;
  readonly svg: string;
  /** What is drawn. */
  readonly data: readonly Row[];
}

const MOST_SLOTS = 14;
const MOST_SERIES = 8;
/** An interval from one seed reaches to infinity. */
const NO_INTERVAL = 1e6;

/** The pictures of one answer, from its own rows: what to draw is data of the answer. */
export function answerFigures({ test, rows = [], charts = [] }: Falsification): DrawnFigure[] {
  const name = test.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return charts
    .flatMap((chart) => {
      const mine = rows.filter((row) => matches(row, chart));
      if (mine.length === 0) return [];
      return chart.kind === "forest" ? forests(test, chart, mine) : lines(test, chart, mine);
    })
    .map((figure, i) => ({ id: `answer-${name}-${i + 1}`, ...figure }));
}

function matches(row: Row, { only = {}, value }: Chart): boolean {
  return typeof row[value] === "number" && Object.entries(only).every(([key, wanted]) => row[key] === wanted);
}

function forests(test: string, chart: Chart, rows: readonly Row[]): Omit<DrawnFigure, "id">[] {
  const hardest = new Map<string, Row>();
  for (const row of rows) {
    const key = JSON.stringify([row.where, row[chart.series]]);
    const known = hardest.get(key);
    if (known === undefined || Number(row[chart.value]) > Number(known[chart.value])) hardest.set(key, row);
  }
  const kept = [...hardest.values()];
  const places = [...new Set(kept.map(({ where }) => where))];
  const { common, names } = apart(places);
  const series = [...new Set(kept.map((row) => String(row[chart.series])))].slice(0, MOST_SERIES);
  return chunks(places, MOST_SLOTS).map((part) => {
    const data = kept.filter(({ where }) => part.includes(where));
    return {
      data,
      svg: forest({
        title: `${test}: ${chart.title}`,
        note: common,
        xLabel: chart.xLabel,
        ...(chart.level === undefined ? {} : { level: chart.level }),
        slots: part.map((place) => names.get(place)!),
        series: series.map((name) => ({
          name,
          points: data.flatMap((row) => (row[chart.series] === name ? [pointOf(row, chart, part.indexOf(row.where))] : [])),
        })),
      }),
    };
  });
}

function pointOf(row: Row, chart: Chart, slot: number): ForestPoint {
  const value = Number(row[chart.value]);
  const interval = chart.value === "ratio" ? intervalOf(row) : null;
  const against = typeof row["baseline"] === "string" ? ` against ${row["baseline"]}` : "";
  const range = interval === null ? "" : ` [${interval[0].toFixed(3)}, ${interval[1].toFixed(3)}]`;
  return {
    slot,
    value,
    ...(interval === null ? {} : { low: interval[0], high: interval[1] }),
    hollow: row["unstable"] === true,
    says: `${String(row[chart.series])}${against}: ${value.toFixed(3)}${range}`,
  };
}

function intervalOf(row: Row): readonly [number, number] | null {
  const interval = row["ci95"];
  if (!Array.isArray(interval)) return null;
  const [low, high] = interval as [number, number];
  return high > NO_INTERVAL ? null : [low, high];
}

function lines(test: string, chart: Chart, rows: readonly Row[]): Omit<DrawnFigure, "id">[] {
  const names = [...new Set(rows.map((row) => String(row[chart.series])))];
  return chunks(names, MOST_SERIES).map((part) => {
    const data = rows.filter((row) => part.includes(String(row[chart.series])));
    const top = 2 * Math.max(chart.level ?? 0, ...data.map((row) => Number(row[chart.value])));
    const series = part.map((name): Series => ({
      name,
      points: data.flatMap((row) => {
        if (String(row[chart.series]) !== name) return [];
        const interval = chart.value === "ratio" ? intervalOf(row) : null;
        const point = { x: Number(row[chart.over ?? ""]), y: Number(row[chart.value]) };
        return [interval === null ? point : { ...point, low: interval[0], high: Math.min(top, interval[1]) }];
      }),
    }));
    const { xLabel, yLabel, level } = chart;
    const title = `${test}: ${chart.title}`;
    return { data, svg: plot({ title, xLabel, yLabel, series, ...(level === undefined ? {} : { level }) }) };
  });
}

/** What every place has in common is said once; names keep the rest. */
function apart(places: readonly string[]): { readonly common: string; readonly names: ReadonlyMap<string, string> } {
  const split = places.map((place) => place.split(", "));
  const same = split[0]!.filter((part) => split.every((parts) => parts.includes(part)));
  if (places.length === 1) return { common: split[0]!.slice(1).join(", "), names: new Map([[places[0]!, split[0]![0]!]]) };
  const names = new Map(places.map((place, i) => [place, split[i]!.filter((part) => !same.includes(part)).join(", ")]));
  return { common: same.join(", "), names };
}

function chunks<T>(values: readonly T[], size: number): T[][] {
  const count = Math.ceil(values.length / size);
  const even = Math.ceil(values.length / Math.max(1, count));
  return Array.from({ length: count }, (_, i) => values.slice(even * i, even * (i + 1)));
}
