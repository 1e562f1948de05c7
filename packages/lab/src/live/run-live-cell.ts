import { setMaxListeners } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import type { Graph, PolicyChanges } from "@topas/core";
import type { Engine } from "@topas/engines";
import { startGateway, type RunningGateway } from "@topas/gateway";
import { linesOf, readJournal, type JournalCall } from "@topas/sim";
import type { Arm } from "../conditions.ts";
import type { Metrics } from "../results/metrics.ts";
import type { Cost } from "../run/overhead.ts";
import { trendOf, type Trend } from "../run/stability.ts";
import { classOfBeside } from "./beside.ts";
import { exactLengths } from "./exact-lengths.ts";
import { jobsOfJournal } from "./journal-jobs.ts";
import { failureOf, liveMetrics, prefixesOf, type Observed } from "./live-metrics.ts";
import { playPlain, type PlainTasks } from "./plain-player.ts";
import { fingerprint } from "./plain-workload.ts";
import { watchSteps } from "./step-watch.ts";
import type { JobClass, LiveJob, LiveWorkload } from "./types.ts";

export interface LiveCellOptions {
  readonly workload: LiveWorkload;
  /** Chats and background calls that share the engine. */
  readonly beside: PlainTasks | null;
  readonly arm: Arm;
  /** A fresh engine, not started. */
  readonly openEngine: () => Promise<Engine>;
  /** True: the model ends its answers itself, as a user's own model should; false: the drawn lengths are enforced. */
  readonly modelDecides: boolean;
  /** Where the gateway journals; removed when the cell is over. */
  readonly journalFile: string;
  /** Play is stopped after so many seconds; what is not over then has failed. */
  readonly limitSeconds: number;
  readonly signal: AbortSignal;
}

/** Plain data: it goes to cells.jsonl as it is. */
export interface LiveCellResult {
  /** The workload itself first, then each class beside it. */
  readonly rows: readonly { readonly class: JobClass; readonly metrics: Metrics }[];
  readonly inputs: string;
  readonly trend: Trend;
  readonly tasksPerSecond: number;
  readonly seconds: number;
  readonly decisions: Cost;
  /** Sum over the workload's distinct prefixes, as the engine counted them; without those beside it. */
  readonly prefixTokens: number;
  /** Mean time from a task's first call at the gateway to the end of its last, workflow jobs that are done; null: none. */
  readonly spanMeanS: number | null;
  readonly counters: Readonly<Record<string, number>>;
  /** Of the engine. */
  readonly notes: readonly string[];
  readonly workload: Pick<LiveWorkload, "orchestrator" | "notes">;
  /** Why jobs do not count, the first few. */
  readonly failures: readonly string[];
}

/** The calls of a cell and what the scheduler was told of their tasks, for the simulator. */
export interface Recorded {
  readonly calls: readonly JournalCall[];
  readonly jobOf: (call: JournalCall) => string | null;
  readonly graphs: ReadonlyMap<string, Graph>;
  readonly jobs: readonly LiveJob[];
}

/** One workload under one policy on a fresh engine. @throws whatever kept it from running at all. */
export async function runLiveCell(options: LiveCellOptions): Promise<{ result: LiveCellResult; recorded: Recorded }> {
  const { workload, beside, arm, journalFile } = options;
  const lengths = besideLengths(beside);
  const engine = exactLengths(await options.openEngine(), (job, stage, visit) =>
    options.modelDecides ? null : (lengths.get(job) ?? workload.outputTokens(job, stage, visit)),
  );
  const graphs = new Map<string, Graph>();
  rmSync(journalFile, { force: true });
  const gateway = await startGateway({
    engine,
    ...schedulerOf(arm),
    journalFile,
    onEvent: (_, event) => {
      if (event.kind === "graphRevealed") graphs.set(event.task, event.graph);
    },
    host: "127.0.0.1",
    port: 0,
    keys: new Map(),
    logLevel: "silent",
  });
  try {
    const { budgetTokens, notes } = facts(engine.describe());
    const startedSeconds = performance.now() / 1_000;
    const now = (): number => performance.now() / 1_000 - startedSeconds;
    const watch = watchSteps(engine, budgetTokens, now);
    const outcomes = await playAll(options, gateway, now);
    const endSeconds = now();
    watch.stop();
    const counters = gateway.loop.counters();
    const decisions = costOf(gateway, endSeconds);
    await gateway.close();
    const read = readJournal(linesOf(readFileSync(journalFile, "utf8"))).rows;
    const calls = read.map((call) => ({ ...call, arrivalMs: call.arrivalMs - startedSeconds * 1_000 }));
    const jobs = [...workload.jobs, ...besideJobs(beside)];
    const jobOf = jobsOfJournal(calls, (id) => engine.markOf(id), jobs);
    const observed: Observed = {
      jobs,
      outcomes,
      calls,
      jobOf,
      steps: watch.steps,
      budgetTokens,
      counters,
      endSeconds,
    };
    const result = resultOf(options, observed, decisions, notes);
    return { result, recorded: { calls, jobOf, graphs, jobs } };
  } finally {
    await gateway.close();
    rmSync(journalFile, { force: true });
  }
}

/** Options of the gateway's scheduler for a row. `passthrough` is the engine as shipped and takes none (docs/decisions/0005). */
export function schedulerOf(arm: Arm): { readonly policy: string; readonly policyOptions: PolicyChanges } {
  const policy = arm.policy ?? arm.name;
  if (policy === "passthrough") return { policy, policyOptions: {} };
  const policyOptions = {
    ...(arm.options as PolicyChanges | undefined),
    ...(arm.fit === undefined ? {} : { fit: arm.fit }),
    ...(arm.reserve === undefined || arm.reserve === "none" ? {} : { reserve: arm.reserve }),
  };
  return { policy, policyOptions };
}

async function playAll(
  { workload, beside, limitSeconds, signal: stop }: LiveCellOptions,
  gateway: RunningGateway,
  now: () => number,
): Promise<Observed["outcomes"]> {
  const over = new AbortController();
  const limit = setTimeout(() => over.abort(new Error(`stopped after ${limitSeconds} s`)), limitSeconds * 1_000);
  const signal = AbortSignal.any([stop, over.signal]);
  // Every call of every job listens.
  setMaxListeners(0, signal);
  try {
    const context = { url: gateway.url, signal, now };
    const others = beside === null ? Promise.resolve([]) : playPlain(beside, context);
    const [mine, theirs] = await Promise.all([workload.play(context), others]);
    stop.throwIfAborted();
    return [...mine, ...theirs];
  } finally {
    clearTimeout(limit);
    over.abort(new Error("over"));
    await workload.close?.();
  }
}

function resultOf(
  { workload, beside }: LiveCellOptions,
  observed: Observed,
  decisions: Cost,
  notes: readonly string[],
): LiveCellResult {
  const { jobs, outcomes, calls, jobOf, endSeconds, counters } = observed;
  const classes = (["workflow", "chat", "background"] as const).filter((each) => jobs.some((job) => job.class === each));
  const failures = jobs.flatMap((job) => failureOf(job, observed) ?? []);
  const spans = workload.jobs.flatMap((job) => {
    const finishSeconds = outcomes.find(({ id }) => id === job.id)?.doneSeconds ?? null;
    return finishSeconds === null ? [] : [{ arrivalSeconds: job.arrivalSeconds, finishSeconds }];
  });
  const mine = new Set(workload.jobs.map(({ id }) => id));
  const last = Math.max(0, ...spans.map(({ finishSeconds }) => finishSeconds));
  const failed = new Set(failures.map((text) => text.slice(0, text.indexOf(": "))));
  const seen = workload.jobs.flatMap(({ id }) =>
    failed.has(id) ? [] : (spanOf(calls.filter((call) => jobOf(call) === id)) ?? []),
  );
  return {
    rows: classes.map((each) => ({ class: each, metrics: liveMetrics(observed, each) })),
    inputs: fingerprint([workload.inputs, beside]),
    trend: trendOf(spans),
    tasksPerSecond: last === 0 ? 0 : spans.length / last,
    seconds: endSeconds,
    decisions,
    prefixTokens: prefixesOf(calls.filter((call) => mine.has(jobOf(call) ?? ""))).reduce(
      (sum, { prefixTokens }) => sum + prefixTokens,
      0,
    ),
    spanMeanS: seen.length === 0 ? null : seen.reduce((a, b) => a + b, 0) / seen.length,
    counters,
    notes,
    workload: { orchestrator: workload.orchestrator, notes: workload.notes },
    failures: failures.slice(0, 5),
  };
}

function spanOf(calls: readonly JournalCall[]): number | null {
  if (calls.length === 0) return null;
  const first = Math.min(...calls.map(({ arrivalMs }) => arrivalMs));
  return (Math.max(...calls.map(({ arrivalMs, endMs }) => arrivalMs + endMs)) - first) / 1_000;
}

/** Decisions are the policy alone; the share of wall time is everything the loop does to schedule. */
function costOf(gateway: RunningGateway, wallSeconds: number): Cost {
  const { p50Seconds, p95Seconds } = gateway.loop.decisionTimes();
  const seconds = gateway.loop.counters()["scheduling_seconds_total"] ?? 0;
  return { decisionP50Us: p50Seconds * 1e6, decisionP95Us: p95Seconds * 1e6, wallShare: seconds / wallSeconds };
}

function facts({ kvBudgetTokens, notes, engine }: ReturnType<Engine["describe"]>): {
  budgetTokens: number;
  notes: readonly string[];
} {
  if (kvBudgetTokens === null) throw new Error(`engine ${engine} does not say how many tokens it holds`);
  return { budgetTokens: kvBudgetTokens, notes };
}

function besideJobs(beside: PlainTasks | null): LiveJob[] {
  const tasks = beside?.tasks ?? [];
  return tasks.map(({ id, arrivalSeconds }) => ({ id, class: classOfBeside(id), arrivalSeconds, calls: 1 }));
}

function besideLengths(beside: PlainTasks | null): Map<string, number> {
  const tasks = beside?.tasks ?? [];
  return new Map(tasks.map(({ id, stages }) => [id, stages[0]!.rounds[0]!.outputTokens]));
}
