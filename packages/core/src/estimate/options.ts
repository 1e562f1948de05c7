/** How lengths are believed (algorithm 2.5, 2.6). */
export interface EstimatorOptions {
  /** `mean`: f = 1. `posterior`: one factor per task. `correlated`: the joint samples of a task share its draws of d. */
  readonly estimate: "mean" | "posterior" | "correlated";
  /** Joint samples per task. */
  readonly samples: number;
  /** Default scope of `TaskPath.delta`. */
  readonly roundGain: RoundGain;
  /** Ablation `topas-inside`: the longest path of mean residuals instead of the mean of longest paths. */
  readonly inside: boolean;
  /** Enumerate instead of sampling when there are at most so many combinations of residual values. */
  readonly exactUpTo: number;
}

/** What a finished call takes off the path: the whole stage, or at most this call's own service (3.4, ambiguity 1). */
export type RoundGain = "stage" | "call";

/** `exactUpTo` 32 costs no more than sampling; the vectors are checked with up to 4,096. */
export const ESTIMATOR_DEFAULTS: EstimatorOptions = {
  estimate: "mean",
  samples: 32,
  roundGain: "stage",
  inside: false,
  exactUpTo: 32,
};

const MOST_SAMPLES = 4_096;

/** Options in range: whole numbers, at least one sample. */
export function completeOptions(changes: Partial<EstimatorOptions>): EstimatorOptions {
  const all = { ...ESTIMATOR_DEFAULTS, ...changes };
  const whole = (n: number, least: number): number => (n >= least ? Math.min(MOST_SAMPLES, Math.floor(n)) : least);
  return { ...all, samples: whole(all.samples, 1), exactUpTo: whole(all.exactUpTo, 0) };
}
