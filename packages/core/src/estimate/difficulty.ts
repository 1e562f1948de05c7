/** Variance components of ln(output / profile mean), logarithms squared (algorithm 2.6). */
export interface Spread {
  /** s_o^2: within a task. */
  readonly within: number;
  /** s_d^2: between tasks. */
  readonly between: number;
}

/** ln(1 + 0.7^2), and s_d = 0.5. */
export const DEFAULT_SPREAD: Spread = { within: Math.log(1 + 0.49), between: 0.25 };

/** Posterior of ln d_i after n calls: normal with this mean and variance. */
export interface Posterior {
  readonly mean: number;
  readonly variance: number;
}

/** `logSum` = sum of ln(o / m_v) over the task's finished calls. */
export function difficultyPosterior(calls: number, logSum: number, spread: Spread): Posterior {
  const precision = 1 / spread.between + calls / spread.within;
  const sum = logSum + (calls * spread.within) / 2;
  return { mean: (sum / spread.within - 0.5) / precision, variance: 1 / precision };
}

/** f_i = E[d_i] under the posterior (vector V13). */
export function difficultyFactor(calls: number, logSum: number, spread: Spread): number {
  const { mean, variance } = difficultyPosterior(calls, logSum, spread);
  return Math.exp(mean + variance / 2);
}

/** Running sums of a one-way random-effects analysis over finished tasks with at least two calls. Plain data. */
export interface DifficultySums {
  tasks: number;
  calls: number;
  /** Sum over tasks of n_i^2. */
  calls2: number;
  /** Sum of squares within tasks. */
  within: number;
  /** Sum over tasks of S_i^2 / n_i. */
  between: number;
  total: number;
}

/** Tasks after which old ones count half. */
const WINDOW = 2_048;
/** Gates: tasks seen, and least s_d^2, before f may differ from 1. */
const LEAST_TASKS = 30;
const LEAST_BETWEEN = 0.02;

export function emptyDifficulty(): DifficultySums {
  return { tasks: 0, calls: 0, calls2: 0, within: 0, between: 0, total: 0 };
}

export function observeDifficulty(sums: DifficultySums, calls: number, logSum: number, logSquares: number): void {
  if (calls < 2 || !Number.isFinite(logSum) || !Number.isFinite(logSquares)) return;
  if (sums.tasks >= WINDOW) {
    sums.tasks /= 2;
    sums.calls /= 2;
    sums.calls2 /= 2;
    sums.within /= 2;
    sums.between /= 2;
    sums.total /= 2;
  }
  sums.tasks += 1;
  sums.calls += calls;
  sums.calls2 += calls * calls;
  sums.within += Math.max(0, logSquares - (logSum * logSum) / calls);
  sums.between += (logSum * logSum) / calls;
  sums.total += logSum;
}

/** The components by the method of moments; null while the gates are shut, so that f = 1. */
export function spreadOf(sums: DifficultySums | undefined): Spread | null {
  if (sums === undefined || sums.tasks < LEAST_TASKS || sums.calls <= sums.tasks) return null;
  const within = sums.within / (sums.calls - sums.tasks);
  const squares = sums.between - (sums.total * sums.total) / sums.calls;
  const size = (sums.calls - sums.calls2 / sums.calls) / (sums.tasks - 1);
  const between = (squares / (sums.tasks - 1) - within) / size;
  return between > LEAST_BETWEEN ? { within: Math.max(within, 1e-4), between } : null;
}
