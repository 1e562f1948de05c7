import { mean, quantile } from "../stats.ts";
import { energyOf } from "./energy.ts";
import { overtakesMax } from "./overtakes.ts";
import type { RequestLog, RunLog, TaskLog } from "./run-log.ts";
import { slowdownOf, type SlowdownClass } from "./slowdown.ts";
import { occupancyOf } from "./occupancy.ts";

export interface MetricOptions {
  /** Tasks, in order of arrival, that only warm the system up. */
  readonly warmupTasks?: number;
  /** A request that waits longer is starved. */
  readonly starveAfterSeconds?: number;
}

/** Every metric of one run; null where the run cannot say. Means and quantiles (type 7) are over tasks or requests, not over time, unless said. */
export interface Metrics {
  readonly tasks: number;
  /** Measured tasks not over at the end. Above zero, task times are null: the survivors are the quick ones. */
  readonly backlogTasks: number;
  readonly jctMeanS: number | null;
  readonly jctP95S: number | null;
  readonly jctP99S: number | null;
  readonly slowdownP99: number | null;
  readonly slowdownByClass: readonly SlowdownClass[] | null;
  readonly successRate: number;
  readonly goodputTaskS: number;
  readonly throughputReqS: number;
  readonly ttftMeanS: number | null;
  readonly ttftP99S: number | null;
  readonly itlMeanMs: number | null;
  /** Prefix tokens found in the cache, of all prefix tokens. */
  readonly prefixHitRate: number | null;
  /** Prompt tokens found in the cache, of all prompt tokens. */
  readonly promptHitRate: number | null;
  readonly prefixMovedBytes: number | null;
  readonly prefixMoveS: number | null;
  readonly preemptions: number;
  readonly redoneTokens: number;
  /** Time means over the whole run. */
  readonly kvOccupancy: number | null;
  readonly pinnedShare: number | null;
  /** Share of time with 0, 1, 2, ... prefixes pinned. */
  readonly pinnedPrefixShare: readonly number[] | null;
  /** Time mean over busy time. */
  readonly batchMean: number | null;
  readonly waitMaxS: number | null;
  readonly starved: number;
  /** Most requests that became ready after one and were admitted before it. */
  readonly overtakesMax: number;
  readonly contendedShare: number | null;
  readonly decisions: number | null;
  readonly decisionMeanUs: number | null;
  /** Devices held for the whole run; busy: while a step ran. */
  readonly gpuHours: number;
  readonly gpuBusyHours: number | null;
  /** Modelled from the engine's power table, never measured. */
  readonly energyJ: number | null;
}

export function measure(log: RunLog, options: MetricOptions = {}): Metrics {
  const { warmupTasks = 0, starveAfterSeconds = 30 } = options;
  const tasks = log.tasks.toSorted((a, b) => a.arrivalSeconds - b.arrivalSeconds || (a.id < b.id ? -1 : 1)).slice(warmupTasks);
  const kept = new Set(tasks.map(({ id }) => id));
  const requests = log.requests.filter(({ task }) => kept.has(task));
  const from = tasks[0]?.arrivalSeconds ?? 0;
  const spanSeconds = Math.max(0, log.endSeconds - from);
  const open = tasks.filter(({ outcome }) => outcome === "open").length;
  const done = tasks.filter(({ outcome }) => outcome === "done");
  const times = open > 0 ? [] : done.map((task) => task.finishSeconds! - task.arrivalSeconds);
  const slowdown = open > 0 ? null : slowdownOf(done);
  const rate = (count: number): number => (spanSeconds > 0 ? count / spanSeconds : 0);
  return {
    tasks: tasks.length,
    backlogTasks: open,
    jctMeanS: orNull(times, mean),
    jctP95S: orNull(times, (values) => quantile(values, 0.95)),
    jctP99S: orNull(times, (values) => quantile(values, 0.99)),
    slowdownP99: slowdown?.p99 ?? null,
    slowdownByClass: slowdown?.classes ?? null,
    successRate: tasks.length === 0 ? 0 : done.length / tasks.length,
    goodputTaskS: rate(done.filter(inTime).length),
    throughputReqS: rate(requests.filter(({ outcome }) => outcome === "done").length),
    ...firstTokens(requests),
    itlMeanMs: gapMeanMs(log),
    ...hits(requests),
    prefixMovedBytes: log.engine.movedBytes ?? null,
    prefixMoveS: log.engine.moveSeconds ?? null,
    preemptions: requests.reduce((sum, request) => sum + request.preemptions, 0),
    redoneTokens: requests.reduce((sum, request) => sum + request.redoneTokens, 0),
    ...occupancyOf(log, from),
    ...waits(requests, log.endSeconds, starveAfterSeconds),
    overtakesMax: overtakesMax(requests),
    ...decisions(log),
    gpuHours: (spanSeconds * log.engine.devices) / 3_600,
    energyJ: energyOf(log, from),
  };
}

const orNull = (values: readonly number[], of: (values: readonly number[]) => number): number | null =>
  values.length === 0 ? null : of(values);

function inTime(task: TaskLog): boolean {
  return task.sloSeconds === undefined || task.finishSeconds! - task.arrivalSeconds <= task.sloSeconds;
}

function firstTokens(requests: readonly RequestLog[]): Pick<Metrics, "ttftMeanS" | "ttftP99S"> {
  const seconds = requests.flatMap(({ readySeconds, firstTokenSeconds }) =>
    firstTokenSeconds === null ? [] : [firstTokenSeconds - readySeconds],
  );
  return { ttftMeanS: orNull(seconds, mean), ttftP99S: orNull(seconds, (values) => quantile(values, 0.99)) };
}

function gapMeanMs({ gaps }: RunLog): number | null {
  if (gaps === undefined) return null;
  let seconds = 0;
  let count = 0;
  for (let i = 0; i < gaps.seconds.length; i++) {
    seconds += gaps.seconds[i]! * gaps.counts[i]!;
    count += gaps.counts[i]!;
  }
  return count === 0 ? null : (1000 * seconds) / count;
}

function hits(requests: readonly RequestLog[]): Pick<Metrics, "prefixHitRate" | "promptHitRate"> {
  let prefix = 0;
  let prefixFound = 0;
  let prompt = 0;
  let found = 0;
  for (const { prefixTokens, promptTokens, cachedTokens } of requests) {
    if (cachedTokens === null) continue;
    prefix += prefixTokens;
    prefixFound += Math.min(prefixTokens, cachedTokens);
    prompt += promptTokens;
    found += cachedTokens;
  }
  return { prefixHitRate: prefix === 0 ? null : prefixFound / prefix, promptHitRate: prompt === 0 ? null : found / prompt };
}

function waits(
  requests: readonly RequestLog[],
  endSeconds: number,
  starveAfterSeconds: number,
): Pick<Metrics, "waitMaxS" | "starved"> {
  const seconds = requests.map(
    ({ readySeconds, admittedSeconds, finishSeconds }) => (admittedSeconds ?? finishSeconds ?? endSeconds) - readySeconds,
  );
  return {
    waitMaxS: orNull(seconds, (values) => values.reduce((a, b) => Math.max(a, b))),
    starved: seconds.filter((wait) => wait > starveAfterSeconds).length,
  };
}

function decisions({ decisions: totals }: RunLog): Pick<Metrics, "contendedShare" | "decisions" | "decisionMeanUs"> {
  const count = totals?.count ?? 0;
  const per = (sum: number | undefined): number | null => (sum === undefined || count === 0 ? null : sum / count);
  const micros = per(totals?.wallSeconds);
  return {
    contendedShare: per(totals?.contended),
    decisions: totals?.count ?? null,
    decisionMeanUs: micros === null ? null : micros * 1e6,
  };
}
