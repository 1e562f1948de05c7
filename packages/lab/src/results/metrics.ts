import { z } from "zod";

const figure = z.number().nullable();
const count = z.number().int().nonnegative();

/** What one run measured; null where it cannot say. Names end in their unit: S seconds, Ms milliseconds, J joules. */
export const Metrics = z.strictObject({
  tasks: count.default(0),
  /** Measured tasks not over at the end. */
  backlogTasks: count.default(0),
  jctMeanS: figure,
  jctP95S: figure,
  jctP99S: figure,
  ttftMeanS: figure,
  ttftP99S: figure,
  itlMeanMs: figure,
  throughputReqS: figure,
  goodputTaskS: figure,
  prefixHitRate: figure,
  prefixMovedBytes: figure,
  prefixMoveS: figure,
  preemptions: figure,
  redoneTokens: figure,
  kvOccupancy: figure,
  pinnedShare: figure,
  pinnedPrefixShare: z.array(z.number()).readonly().nullable().default(null),
  batchMean: figure,
  waitMaxS: figure,
  starved: figure,
  overtakesMax: figure,
  slowdownP99: figure,
  successRate: z.number(),
  gpuHours: figure,
  energyJ: figure,
  contendedShare: figure.default(null),
  decisions: figure.default(null),
  /** Mean time a task takes alone on an idle, warm engine: no policy can do better. */
  aloneMeanS: figure.default(null),
});
export type Metrics = Readonly<z.infer<typeof Metrics>>;

export type MetricName = Exclude<keyof Metrics, "pinnedPrefixShare">;

/** What every claim is made of. */
export const TASK_TIMES = ["jctMeanS", "jctP99S"] as const;

/** Of a run that failed. */
export const NO_METRICS: Metrics = {
  tasks: 0,
  backlogTasks: 0,
  jctMeanS: null,
  jctP95S: null,
  jctP99S: null,
  ttftMeanS: null,
  ttftP99S: null,
  itlMeanMs: null,
  throughputReqS: null,
  goodputTaskS: null,
  prefixHitRate: null,
  prefixMovedBytes: null,
  prefixMoveS: null,
  preemptions: null,
  redoneTokens: null,
  kvOccupancy: null,
  pinnedShare: null,
  pinnedPrefixShare: null,
  batchMean: null,
  waitMaxS: null,
  starved: null,
  overtakesMax: null,
  slowdownP99: null,
  successRate: 0,
  gpuHours: null,
  energyJ: null,
  contendedShare: null,
  decisions: null,
  aloneMeanS: null,
};

/** Where more is better; everywhere else less is. */
export const MORE_IS_BETTER: ReadonlySet<MetricName> = new Set([
  "throughputReqS",
  "goodputTaskS",
  "prefixHitRate",
  "successRate",
]);
