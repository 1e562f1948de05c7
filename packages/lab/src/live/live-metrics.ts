import { measure, runLogOfJournal, type JournalCall, type RunLog, type StepLog, type TaskLog } from "@topas/sim";
import { NO_METRICS, type Metrics } from "../results/metrics.ts";
import { pick } from "../run/run-cell.ts";
import { waitingOf } from "../run/waiting.ts";
import type { JobClass, JobOutcome, LiveJob } from "./types.ts";

/** What is known when a run is over. Times in seconds since it began. */
export interface Observed {
  readonly jobs: readonly LiveJob[];
  readonly outcomes: readonly JobOutcome[];
  /** The journal, its times moved to the run's clock. */
  readonly calls: readonly JournalCall[];
  /** Null: a call of nobody's. */
  readonly jobOf: (call: JournalCall) => string | null;
  readonly steps: readonly StepLog[];
  readonly budgetTokens: number;
  readonly counters: Readonly<Record<string, number>>;
  readonly endSeconds: number;
}

/** A call that waits longer for its admission is starved: half of the time after which Ruflo's client gives up. */
export const LIVE_STARVE_SECONDS = 30;
/** Longer than a decode step of the CPU engine; what waits less waits for the step, not for another call. */
export const LIVE_STEP_SECONDS = 0.05;

/** Metrics of the jobs of one class; what the engine holds and does is the whole engine's. Null where a live engine cannot say. */
export function liveMetrics(observed: Observed, of: JobClass): Metrics {
  const jobs = observed.jobs.filter((job) => job.class === of);
  if (jobs.length === 0) return NO_METRICS;
  const ids = new Set(jobs.map(({ id }) => id));
  const calls = observed.calls.filter((call) => ids.has(observed.jobOf(call) ?? ""));
  const { counters, steps, budgetTokens, endSeconds } = observed;
  const log: RunLog = {
    tasks: jobs.map((job) => taskLog(job, observed)),
    requests: runLogOfJournal(calls, { budgetTokens, devices: 1 }).requests.map((request, i) => ({
      ...request,
      task: observed.jobOf(calls[i]!)!,
    })),
    steps,
    gaps: gapsOf(calls),
    decisions: { count: counters["decisions_total"] ?? 0, wallSeconds: counters["decision_seconds_total"] ?? 0 },
    engine: { budgetTokens, devices: 1, movedBytes: counters["moved_bytes_total"] ?? 0 },
    endSeconds,
  };
  const waited = waitingOf(observed.calls.flatMap(admitted), prefixesOf(observed.calls), budgetTokens, LIVE_STEP_SECONDS);
  return { ...pick(measure(log, { starveAfterSeconds: LIVE_STARVE_SECONDS })), ...waited, gpuHours: null };
}

/**
 * A job is done when its orchestrator says so and the gateway counted exactly the calls it had to make, all of them done: the count is
 * the only proof that it ran.
 */
export function isDone(job: LiveJob, { outcomes, calls, jobOf }: Pick<Observed, "outcomes" | "calls" | "jobOf">): boolean {
  return failureOf(job, { outcomes, calls, jobOf }) === null;
}

/** Why a job does not count as done; null: it does. */
export function failureOf(
  job: LiveJob,
  { outcomes, calls, jobOf }: Pick<Observed, "outcomes" | "calls" | "jobOf">,
): string | null {
  const outcome = outcomes.find(({ id }) => id === job.id);
  if (outcome === undefined) return `${job.id}: its player says nothing of it`;
  if (outcome.doneSeconds === null || outcome.error !== null) return `${job.id}: ${outcome.status}, ${outcome.error ?? "no end"}`;
  const mine = calls.filter((call) => jobOf(call) === job.id);
  const done = mine.filter((call) => call.outcome === "done").length;
  if (done === job.calls && mine.length === job.calls) return null;
  return `${job.id}: ${outcome.status}, but the gateway counted ${mine.length} calls, ${done} done, of ${job.calls} expected`;
}

function taskLog(job: LiveJob, observed: Observed): TaskLog {
  const { id, arrivalSeconds } = job;
  const outcome = observed.outcomes.find((each) => each.id === id);
  const done = isDone(job, observed);
  return { id, arrivalSeconds, finishSeconds: done ? outcome!.doneSeconds : null, outcome: done ? "done" : "failed" };
}

/** The mean gap of a call, once for each of its gaps: right for means, which is all that is asked of it. */
function gapsOf(calls: readonly JournalCall[]): { readonly seconds: number[]; readonly counts: number[] } {
  const streamed = calls.filter(({ ttftMs, outputTokens, outcome }) => outcome === "done" && ttftMs !== null && outputTokens > 1);
  return {
    seconds: streamed.map(({ endMs, ttftMs, outputTokens }) => (endMs - ttftMs!) / 1_000 / (outputTokens - 1)),
    counts: streamed.map(({ outputTokens }) => outputTokens - 1),
  };
}

function admitted(call: JournalCall): Parameters<typeof waitingOf>[0][number][] {
  if (call.queueMs === null) return [];
  const readySeconds = call.arrivalMs / 1_000;
  return [
    {
      agent: call.prefixId ?? call.id,
      readySeconds,
      admittedSeconds: readySeconds + call.queueMs / 1_000,
      finishedSeconds: readySeconds + call.endMs / 1_000,
    },
  ];
}

/** Distinct shareable prefixes, as the engine counted them. */
export function prefixesOf(calls: readonly JournalCall[]): { readonly name: string; readonly prefixTokens: number }[] {
  const seen = new Map(calls.flatMap(({ prefixId, prefixTokens }) => (prefixId === null ? [] : [[prefixId, prefixTokens]])));
  return [...seen].map(([name, prefixTokens]) => ({ name, prefixTokens }));
}
