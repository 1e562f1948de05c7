import { COLOURS, escapeXml, n, text } from "./svg.ts";

export interface ForestPoint {
  readonly slot: number;
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  /** Drawn without a filling: the row does not settle. */
  readonly hollow?: boolean;
  readonly says: string;
}

export interface Forest {
  readonly title: string;
  readonly note: string;
  readonly xLabel: string;
  readonly level?: number;
  readonly slots: readonly string[];
  readonly series: readonly { readonly name: string; readonly points: readonly ForestPoint[] }[];
}

const [WIDTH, LEFT, RIGHT, TOP, BOTTOM, LINE] = [1050, 400, 190, 52, 46, 12];
const PLOT_W = WIDTH - LEFT - RIGHT;
/** Farther right than this many times the dashed line a point is written out at the edge. */
const FARTHEST = 2.5;

/** Settings from top to bottom, one dot a series with its interval: long names and many settings stay readable. */
export function forest({ title, note, xLabel, level, slots, series }: Forest): string {
  const points = series.flatMap((each) => each.points);
  const slotHeight = LINE * Math.max(1.6, series.length) + 8;
  const bottom = TOP + slotHeight * slots.length;
  const height = Math.max(bottom + BOTTOM, TOP + 18 * series.length + 20);
  const cap = level === undefined ? Infinity : FARTHEST * level;
  const ends = points.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]).concat(level ?? 0);
  const [least, most] = [Math.min(...ends), Math.min(cap, Math.max(...ends))];
  const margin = 0.04 * Math.max(most - least, 0.05);
  const [from, to] = [Math.max(Math.min(least - margin, most), Math.min(0, least)), most + margin];
  const x = (value: number): number => LEFT + (PLOT_W * (Math.min(Math.max(value, from), to) - from)) / (to - from);
  const ticks = niceTicks(from, to);
  const axis = ticks.map(
    (tick) =>
      `<line x1="${n(x(tick))}" x2="${n(x(tick))}" y1="${TOP}" y2="${n(bottom)}" stroke="#e4e4e4"/>` +
      text(x(tick), bottom + 16, String(Number(tick.toPrecision(3))), 'text-anchor="middle"'),
  );
  const names = slots.map((slot, i) =>
    text(LEFT - 10, TOP + slotHeight * (i + 0.5) + 4, shortened(slot), 'text-anchor="end" font-size="11"'),
  );
  const bands = slots.flatMap((_, i) =>
    i % 2 === 0
      ? []
      : [`<rect x="0" y="${n(TOP + slotHeight * i)}" width="${LEFT + PLOT_W}" height="${n(slotHeight)}" fill="#f7f7f7"/>`],
  );
  const dots = series.flatMap(({ points: mine }, s) => {
    const colour = COLOURS[s % COLOURS.length]!;
    return mine.map((point) => dot(point, TOP + slotHeight * point.slot + 4 + LINE * (s + 0.5), x, to, colour));
  });
  const line =
    level === undefined
      ? ""
      : `<line x1="${n(x(level))}" x2="${n(x(level))}" y1="${TOP}" y2="${n(bottom)}" stroke="#333" stroke-dasharray="5 4"/>`;
  const legend = series.map(({ name }, s) => {
    const y = TOP + 6 + 18 * s;
    return `<circle cx="${LEFT + PLOT_W + 22}" cy="${y}" r="5" fill="${COLOURS[s % COLOURS.length]!}"/>${text(LEFT + PLOT_W + 34, y + 4, name, "")}`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${n(height)}" width="${WIDTH}" height="${n(height)}" role="img" aria-label="${escapeXml(title)}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${n(height)}" fill="#fff"/>`,
    ...bands,
    text(12, 20, title, 'font-size="14" font-weight="600"'),
    text(12, 38, note, 'fill="#555"'),
    ...axis,
    line,
    ...names,
    ...dots,
    text(LEFT + PLOT_W / 2, bottom + 36, xLabel, 'text-anchor="middle"'),
    ...legend,
    "</svg>",
  ].join("");
}

function dot(point: ForestPoint, y: number, x: (value: number) => number, to: number, colour: string): string {
  const { value, low, high, hollow, says } = point;
  const bar =
    low === undefined || high === undefined
      ? ""
      : `<line x1="${n(x(low))}" x2="${n(x(high))}" y1="${n(y)}" y2="${n(y)}" stroke="${colour}" stroke-width="1.5"/>`;
  const beyond = value > to ? text(x(to) - 8, y + 4, `${value.toFixed(2)} >`, `text-anchor="end" fill="${colour}"`) : "";
  const mark = `<circle cx="${n(x(value))}" cy="${n(y)}" r="4" fill="${hollow === true ? "#fff" : colour}" stroke="${colour}" stroke-width="1.5"/>`;
  return `<g><title>${escapeXml(says)}</title>${bar}${beyond === "" ? mark : beyond}</g>`;
}

/** Multiples of 1, 2 or 5 times a power of ten, at most seven. */
function niceTicks(from: number, to: number): number[] {
  const power = 10 ** Math.floor(Math.log10(to - from));
  const step = [0.1, 0.2, 0.5, 1, 2].map((share) => share * power).find((each) => (to - from) / each <= 6)!;
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

/** What a reader can do without goes first. */
function shortened(name: string): string {
  const brief = name.replace(", each its own reserve", "").replace("every row reserve", "reserve");
  return brief.length > 58 ? `${brief.slice(0, 57)}…` : brief;
}
