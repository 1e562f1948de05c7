import type { JournalCall } from "@topas/sim";
import { describe, expect, it } from "vitest";
import { jobsOfJournal } from "./journal-jobs.ts";
import { failureOf, liveMetrics, type Observed } from "./live-metrics.ts";
import type { LiveJob } from "./types.ts";

let made = 0;
const call = (task: string, arrivalMs: number, endMs: number, rest: Partial<JournalCall> = {}): JournalCall => ({
  spec: "topas.journal/1",
  kind: "call",
  id: `c${(made += 1)}`,
  tenant: "default",
  task,
  stage: "s",
  agent: "a",
  workflow: null,
  after: null,
  prefixId: "p",
  prefixTokens: 100,
  promptTokens: 140,
  cachedTokens: 100,
  outputTokens: 11,
  maxTokens: 20,
  arrivalMs,
  queueMs: 0,
  ttftMs: 100,
  endMs,
  outcome: "done",
  session: null,
  preemptions: 0,
  redoneTokens: 0,
  ...rest,
});

const job = (id: string, calls: number, rest: Partial<LiveJob> = {}): LiveJob => ({
  id,
  class: "workflow",
  arrivalSeconds: 0,
  calls,
  ...rest,
});

const over = (id: string, doneSeconds: number) => ({ id, doneSeconds, status: "completed", error: null });

function observed(rest: Partial<Observed>): Observed {
  const { calls = [], jobs = [] } = rest;
  return {
    outcomes: [],
    steps: [],
    budgetTokens: 1_000,
    counters: { decisions_total: 7, moved_bytes_total: 64 },
    endSeconds: 10,
    jobOf: jobsOfJournal(calls, () => null, jobs),
    ...rest,
    calls,
    jobs,
  };
}

describe("metrics of a live run", () => {
  it("times are the jobs' own; what the engine says comes from the journal", () => {
    const jobs = [job("a", 2), job("b", 1, { arrivalSeconds: 1 }), job("c", 1, { class: "chat", arrivalSeconds: 2 })];
    const calls = [
      call("7:default,1:a,", 50, 1_000),
      call("7:default,1:a,", 1_100, 1_100, { cachedTokens: 0, preemptions: 1, redoneTokens: 5 }),
      call("7:default,1:b,", 1_000, 2_100, { queueMs: 1_500 }),
      call("7:default,1:c,", 2_000, 500),
    ];
    const run = observed({ jobs, calls, outcomes: [over("a", 2.3), over("b", 3.5), over("c", 2.6)] });
    const mine = liveMetrics(run, "workflow");
    expect(mine).toMatchObject({ tasks: 2, successRate: 1, preemptions: 1, redoneTokens: 5, decisions: 7, prefixMovedBytes: 64 });
    expect(mine.jctMeanS).toBeCloseTo((2.3 + 2.5) / 2, 9);
    expect(mine.prefixHitRate).toBeCloseTo(2 / 3, 9);
    expect(mine.waitMaxS).toBeCloseTo(1.5, 9);
    expect(mine.itlMeanMs).toBeCloseTo((900 + 1_000 + 2_000) / 30, 9);
    expect(mine.gpuHours).toBeNull();
    expect(liveMetrics(run, "chat")).toMatchObject({ tasks: 1, jctMeanS: expect.closeTo(0.6, 9) as number });
  });

  it("b waits beside a running call: that is contention, whoever is asked", () => {
    const jobs = [job("a", 1), job("b", 1)];
    const calls = [call("a", 0, 1_000), call("b", 0, 2_000, { queueMs: 1_000 })];
    const run = observed({ jobs, calls, outcomes: [over("a", 1), over("b", 2)] });
    expect(liveMetrics(run, "workflow").contendedShare).toBeCloseTo(1 / 3, 9);
  });
});

describe("a job is done", () => {
  const jobs = [job("a", 2)];
  const said = (calls: readonly JournalCall[], outcomes: Observed["outcomes"] = [over("a", 2)]) =>
    failureOf(jobs[0]!, observed({ jobs, calls, outcomes }));
  it("with exactly its calls, all done, and its orchestrator's word", () => {
    expect(said([call("a", 0, 1), call("a", 2, 1)])).toBeNull();
    expect(said([call("a", 0, 1)])).toMatch(/counted 1 calls, 1 done, of 2/);
    expect(said([call("a", 0, 1), call("a", 2, 1, { outcome: "cancelled" })])).toMatch(/2 calls, 1 done/);
    expect(said([call("a", 0, 1), call("a", 2, 1), call("a", 4, 1)])).toMatch(/counted 3/);
    const failed = { id: "a", doneSeconds: null, status: "failed", error: "step-2" };
    expect(said([call("a", 0, 1), call("a", 2, 1)], [failed])).toMatch(/failed, step-2/);
    expect(said([call("a", 0, 1), call("a", 2, 1)], [])).toMatch(/says nothing/);
  });
  it("is not measured otherwise", () => {
    const calls = [call("a", 0, 1)];
    expect(liveMetrics(observed({ jobs, calls, outcomes: [over("a", 2)] }), "workflow")).toMatchObject({
      successRate: 0,
      jctMeanS: null,
    });
  });
});

it("a call belongs to the job of its marker; unmarked calls follow their task", () => {
  const calls = [call("7:default,2:wf,", 0, 1), call("7:default,2:wf,", 2, 1), call("other", 3, 1)];
  const jobOf = jobsOfJournal(calls, (id) => (id === calls[0]!.id ? { job: "job-1", stage: "s", visit: 0 } : null), [
    { id: "job-1" },
  ]);
  expect(calls.map(jobOf)).toEqual(["job-1", "job-1", null]);
});
