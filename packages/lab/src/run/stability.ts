/** Arrival and end of a task. */
export interface Span {
  readonly arrivalSeconds: number;
  readonly finishSeconds: number;
}

export const STABILITY_RULE =
  "unstable: over the second half of the arrivals the number of tasks in the system, at 40 instants, rises by more than half its mean and by more than 4 (least squares); a ratio across such a point grows with the length of the run";

/**
 * Whether the number of tasks in the system still grows over the second half of the arrivals (workloads 1.3). The whole list
 * counts, warm-up included: it is the same for every scheduler.
 */
export function isUnstable(tasks: readonly Span[]): boolean {
  const arrivals = tasks.map(({ arrivalSeconds }) => arrivalSeconds).toSorted((a, b) => a - b);
  const from = arrivals[Math.floor(arrivals.length / 2)] ?? 0;
  const to = arrivals.at(-1) ?? 0;
  if (arrivals.length < 20 || to <= from) return false;
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
  const rise = cross / square;
  return rise > 0.5 * middle && rise > 4;
}
