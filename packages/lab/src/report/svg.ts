/** A small plotter: axes, lines and grouped bars with interval bars. Text and numbers only, so the same data give the same bytes. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly low?: number;
  readonly high?: number;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Figure {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
  /** Names of the groups; makes it a bar chart, x being the index of the group. */
  readonly groups?: readonly string[];
  /** A line across, for example the ratio 1. */
  readonly level?: number;
}

/** Okabe and Ito: told apart with any colour vision. */
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#b8a800"];
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [860, 340, 64, 276, 34, 54];
/** More places than this on a line chart, and the axis is cut evenly instead. */
const MOST_TICKS = 9;
const PLOT_W = WIDTH - LEFT - RIGHT;
const PLOT_H = HEIGHT - TOP - BOTTOM;

export function plot(figure: Figure): string {
  const points = figure.series.flatMap((series) => series.points);
  const top = niceTop(Math.max(0, figure.level ?? 0, ...points.map(({ y, high }) => high ?? y)));
  const y = (value: number): number => TOP + PLOT_H * (1 - Math.min(value, top) / top);
  const body = figure.groups === undefined ? lines(figure, y) : bars(figure, figure.groups, y);
  const level =
    figure.level === undefined
      ? ""
      : `<line x1="${LEFT}" x2="${LEFT + PLOT_W}" y1="${n(y(figure.level))}" y2="${n(y(figure.level))}" stroke="#333" stroke-dasharray="5 4"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escapeXml(figure.title)}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFT, 20, figure.title, 'font-size="14" font-weight="600"'),
    yAxis(top, y),
    text(16, TOP + PLOT_H / 2, figure.yLabel, `text-anchor="middle" transform="rotate(-90 16 ${TOP + PLOT_H / 2})"`),
    text(LEFT + PLOT_W / 2, HEIGHT - 8, figure.xLabel, 'text-anchor="middle"'),
    level,
    body,
    legend(figure.series),
    "</svg>",
  ].join("");
}

function lines(figure: Figure, y: (value: number) => number): string {
  const xs = figure.series.flatMap(({ points }) => points.map((point) => point.x));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const x = (value: number): number => LEFT + 16 + ((PLOT_W - 32) * (value - low)) / Math.max(high - low, 1e-9);
  const places = [...new Set(xs)].toSorted((a, b) => a - b);
  const even = [0, 0.25, 0.5, 0.75, 1].map((share) => low + share * (high - low));
  const ticks = places.length > MOST_TICKS ? even : places;
  const marks = ticks.map((tick) =>
    text(x(tick), TOP + PLOT_H + 18, String(Number(tick.toPrecision(3))), 'text-anchor="middle"'),
  );
  const drawn = figure.series.map(({ points }, i) => {
    const colour = COLOURS[i % COLOURS.length]!;
    const sorted = points.toSorted((a, b) => a.x - b.x);
    const path = sorted.map((point) => `${n(x(point.x))},${n(y(point.y))}`).join(" ");
    const dots = sorted.map(
      (point) =>
        `${interval(x(point.x), point, y, colour)}<circle cx="${n(x(point.x))}" cy="${n(y(point.y))}" r="3" fill="${colour}"/>`,
    );
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join("")}`;
  });
  return marks.join("") + drawn.join("");
}

function bars(figure: Figure, groups: readonly string[], y: (value: number) => number): string {
  const slot = PLOT_W / groups.length;
  const width = (slot * 0.84) / figure.series.length;
  const marks = groups.map((name, g) => text(LEFT + slot * (g + 0.5), TOP + PLOT_H + 18, name, 'text-anchor="middle"'));
  const drawn = figure.series.flatMap(({ points }, i) =>
    points.map((point) => {
      const colour = COLOURS[i % COLOURS.length]!;
      const left = LEFT + slot * point.x + slot * 0.08 + width * i;
      const height = TOP + PLOT_H - y(point.y);
      const bar = `<rect x="${n(left)}" y="${n(y(point.y))}" width="${n(Math.max(1, width - 1))}" height="${n(height)}" fill="${colour}"/>`;
      return bar + interval(left + width / 2, point, y, "#222");
    }),
  );
  return marks.join("") + drawn.join("");
}

function interval(x: number, { low, high }: Point, y: (value: number) => number, colour: string): string {
  if (low === undefined || high === undefined) return "";
  const cap = (at: number): string => `M${n(x - 3)} ${n(at)}H${n(x + 3)}`;
  return `<path d="M${n(x)} ${n(y(low))}V${n(y(high))}${cap(y(low))}${cap(y(high))}" stroke="${colour}" fill="none"/>`;
}

function yAxis(top: number, y: (value: number) => number): string {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * top);
  const grid = ticks.map(
    (tick) => `<line x1="${LEFT}" x2="${LEFT + PLOT_W}" y1="${n(y(tick))}" y2="${n(y(tick))}" stroke="#ddd"/>`,
  );
  const labels = ticks.map((tick) => text(LEFT - 8, y(tick) + 4, String(Number(tick.toPrecision(3))), 'text-anchor="end"'));
  return grid.join("") + labels.join("");
}

function legend(series: readonly Series[]): string {
  return series
    .map(({ name }, i) => {
      const at = TOP + 4 + 18 * i;
      const box = `<rect x="${LEFT + PLOT_W + 14}" y="${at}" width="12" height="12" fill="${COLOURS[i % COLOURS.length]!}"/>`;
      return box + text(LEFT + PLOT_W + 31, at + 10, name, "");
    })
    .join("");
}

/** Smallest of 1, 1.2, 1.6, 2, 3, 4, 6, 8 times a power of ten that holds the value. */
function niceTop(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.2, 1.6, 2, 3, 4, 6, 8, 10].find((step) => step * power >= value * 0.999_999)!;
}

export function text(x: number, y: number, value: string, attributes: string): string {
  return `<text x="${n(x)}" y="${n(y)}" ${attributes}>${escapeXml(value)}</text>`;
}

export function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export function escapeXml(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
