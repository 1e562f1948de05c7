/** Arrival and end of a task. */
export interface Span {
  readonly arrivalSeconds: number;
  readonly finishSeconds: number;
}

export const STABILITY_RULE =
  "unstable: over the second half of the arrivals the number of tasks in the system, at 40 instants, still rises (least squares): over the seeds of a row the mean rise is above 2 tasks, above a quarter of the mean number, and its one-sided 95 % bound is above zero; one seed: above 4 and above 0.4 of the mean number (steady growth from nothing gives 0.67). A ratio across such a point grows with the length of the run";

export interface Trend {
  /** Tasks by which the number in the system rises over the second half of the arrivals. */
  readonly rise: number;
  /** Mean number in the system over that half. */
  readonly inSystem: number;
}

/** How the number of tasks in the system moves (workloads 1.3). The whole list counts, warm-up included: it is the same for all. */
export function trendOf(tasks: readonly Span[]): Trend {
  const arrivals = tasks.map(({ arrivalSeconds }) => arrivalSeconds).toSorted((a, b) => a - b);
  const from = arrivals[Math.floor(arrivals.length / 2)] ?? 0;
  const to = arrivals.at(-1) ?? 0;
  if (arrivals.length < 20 || to <= from) return { rise: 0, inSystem: 0 };
  const samples = Array.from({ length: 40 }, (_, i) => from + ((to - from) * (i + 0.5)) / 40);
  const inSystem = samples.map((at) => tasks.filter((task) => task.arrivalSeconds <= at && task.finishSeconds > at).length);
  const middle = inSystem.reduce((a, b) => a + b, 0) / inSystem.length;
  let cross = 0;
  let square = 0;
  inSystem.forEach((n, i) => {
    const x = (i - 19.5) / 40;
    cross += x * (n - middle);
    square += x * x;
  });
  return { rise: cross / square, inSystem: middle };
}

/** t quantiles at 95 % for 1, 2, ... degrees of freedom. */
const T95 = [6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812];

/** One verdict for a row: single seeds rise and fall by chance. */
export function isUnstable(trends: readonly Trend[]): boolean {
  const n = trends.length;
  if (n === 0) return false;
  const average = (of: (trend: Trend) => number): number => trends.reduce((sum, trend) => sum + of(trend), 0) / n;
  const rise = average((trend) => trend.rise);
  const inSystem = average((trend) => trend.inSystem);
  if (n === 1) return rise > 4 && rise > 0.4 * inSystem;
  const variance = trends.reduce((sum, trend) => sum + (trend.rise - rise) ** 2, 0) / (n - 1);
  const bound = rise - (T95[n - 2] ?? 1.7) * Math.sqrt(variance / n);
  return rise > 2 && rise > inSystem / 4 && bound > 0;
}
