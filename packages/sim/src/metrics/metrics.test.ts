import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aloneSeconds } from "./alone.ts";
import { measure } from "./metrics.ts";
import { overtakesMax } from "./overtakes.ts";
import type { RequestLog, RunLog, StepLog, TaskLog } from "./run-log.ts";

const task = (id: string, arrivalSeconds: number, finishSeconds: number | null, more: Partial<TaskLog> = {}): TaskLog => ({
  id,
  arrivalSeconds,
  finishSeconds,
  outcome: finishSeconds === null ? "open" : "done",
  ...more,
});
const request = (id: string, ready: number, admitted: number | null, more: Partial<RequestLog> = {}): RequestLog => ({
  id,
  task: "a",
  readySeconds: ready,
  admittedSeconds: admitted,
  firstTokenSeconds: admitted === null ? null : admitted + 1,
  finishSeconds: admitted === null ? null : admitted + 5,
  outcome: admitted === null ? "open" : "done",
  prefixTokens: 100,
  promptTokens: 150,
  cachedTokens: 120,
  outputTokens: 10,
  preemptions: 0,
  redoneTokens: 0,
  ...more,
});
const step = (atSeconds: number, seconds: number, more: Partial<StepLog> = {}): StepLog => ({
  atSeconds,
  seconds,
  decodes: 2,
  prefillTokens: 0,
  chunks: 0,
  heldTokens: 500,
  ...more,
});
const powerWatts = { prefill: 400, decode: 300, idle: 63 };
const log = (more: Partial<RunLog> = {}): RunLog => ({
  tasks: [
    task("a", 0, 10, { aloneSeconds: 5 }),
    task("b", 2, 6, { aloneSeconds: 2, sloSeconds: 3 }),
    task("c", 4, 20, { aloneSeconds: 4 }),
  ],
  requests: [
    request("r1", 0, 1),
    request("r2", 2, 8),
    request("r3", 3, 4, { cachedTokens: 0, preemptions: 2, redoneTokens: 30 }),
  ],
  engine: { budgetTokens: 1_000, devices: 1 },
  endSeconds: 20,
  ...more,
});

describe("metrics", () => {
  it("task times, slowdown, success and goodput", () => {
    const found = measure(log());
    expect(found.jctMeanS).toBe(10);
    expect(found.jctP95S).toBeCloseTo(10 + 0.9 * 6, 9);
    expect(found.slowdownP99).toBeCloseTo(2 + 0.98 * 2, 9);
    expect(found.slowdownByClass).toEqual([
      { size: "small", tasks: 1, meanRatio: 2, p99Ratio: 2 },
      { size: "medium", tasks: 1, meanRatio: 4, p99Ratio: 4 },
      { size: "large", tasks: 1, meanRatio: 2, p99Ratio: 2 },
    ]);
    expect([found.successRate, found.goodputTaskS, found.backlogTasks]).toEqual([1, 2 / 20, 0]);
    expect(found.gpuHours).toBe(20 / 3_600);
  });

  it("an unfinished run reports its backlog, not the mean of the survivors", () => {
    const found = measure(log({ tasks: [task("a", 0, 10), task("b", 2, null)] }));
    expect(found).toMatchObject({
      backlogTasks: 1,
      jctMeanS: null,
      jctP95S: null,
      jctP99S: null,
      slowdownP99: null,
      successRate: 0.5,
    });
  });

  it("failed and cancelled tasks count against success and not as times", () => {
    const found = measure(
      log({ tasks: [task("a", 0, 10), task("b", 2, 3, { outcome: "failed" }), task("c", 2, 3, { outcome: "cancelled" })] }),
    );
    expect([found.jctMeanS, found.successRate]).toEqual([10, 1 / 3]);
  });

  it("requests: first token, hits, waits, redone work", () => {
    expect(measure(log())).toMatchObject({
      ttftMeanS: (2 + 7 + 2) / 3,
      prefixHitRate: 200 / 300,
      promptHitRate: 240 / 450,
      waitMaxS: 6,
      starved: 0,
      preemptions: 2,
      redoneTokens: 30,
      throughputReqS: 3 / 20,
      overtakesMax: 1,
    });
    expect(measure(log(), { starveAfterSeconds: 5 }).starved).toBe(1);
  });

  it("one that still waits at the end counts with its wait so far", () => {
    const found = measure(log({ requests: [request("r1", 0, 1), request("r2", 5, null)] }));
    expect(found.waitMaxS).toBe(15);
  });

  it("steps: time means over the run and over busy time; energy by state", () => {
    const steps = [
      step(0, 5, { pinnedTokens: 400, pinnedPrefixes: 1 }),
      step(10, 10, { decodes: 4, heldTokens: 1_000, pinnedTokens: 800, pinnedPrefixes: 2 }),
    ];
    const found = measure(log({ steps, engine: { budgetTokens: 1_000, devices: 2, powerWatts } }));
    expect(found).toMatchObject({ kvOccupancy: 0.75, pinnedShare: 0.5, batchMean: 50 / 15, gpuBusyHours: 30 / 3_600 });
    expect(found.pinnedPrefixShare).toEqual([0, 5 / 15, 10 / 15]);
    expect(found.energyJ).toBe(2 * (15 * 300 + 5 * 63));
    const mixed = [step(0, 10, { decodes: 30, prefillTokens: 10 })];
    expect(measure(log({ steps: mixed, engine: { budgetTokens: 1_000, devices: 1, powerWatts } })).energyJ).toBe(
      10 * (0.25 * 400 + 0.75 * 300) + 10 * 63,
    );
  });

  it("what the run cannot say is null, never zero", () => {
    const bare = measure({ ...log(), requests: log().requests.map((each) => ({ ...each, cachedTokens: null })) });
    for (const name of [
      "itlMeanMs",
      "prefixHitRate",
      "prefixMovedBytes",
      "prefixMoveS",
      "kvOccupancy",
      "pinnedShare",
      "batchMean",
      "energyJ",
      "contendedShare",
      "decisions",
    ] as const)
      expect(bare[name]).toBeNull();
  });

  it("gaps are weighted by their number; decisions by count", () => {
    const found = measure(
      log({ gaps: { seconds: [0.05, 0.2], counts: [3, 1] }, decisions: { count: 10, contended: 4, wallSeconds: 0.001 } }),
    );
    expect(found.itlMeanMs).toBeCloseTo(87.5, 9);
    expect(found).toMatchObject({ contendedShare: 0.4, decisions: 10 });
    expect(found.decisionMeanUs).toBeCloseTo(100, 9);
  });

  it("warm-up tasks and their requests and time are left out", () => {
    const found = measure(log({ requests: [request("r1", 0, 1), request("r2", 2, 3, { task: "b" })] }), { warmupTasks: 1 });
    expect(found).toMatchObject({ tasks: 2, jctMeanS: 10, throughputReqS: 1 / 18 });
  });

  it("an empty log has no times and does not divide by zero", () => {
    const found = measure({ tasks: [], requests: [], engine: { budgetTokens: 1, devices: 1 }, endSeconds: 0 });
    expect(Object.values(found).every((value) => value === null || value === 0)).toBe(true);
  });
});

describe("overtakes", () => {
  it("equals counting all pairs", () => {
    const requests = fc.array(fc.record({ readySeconds: fc.nat(12), admittedSeconds: fc.option(fc.nat(20)) }), { maxLength: 25 });
    fc.assert(
      fc.property(requests, (all) => {
        const at = (seconds: number | null): number => seconds ?? Infinity;
        const counts = all.map(
          (one) =>
            all.filter((other) => other.readySeconds > one.readySeconds && at(other.admittedSeconds) < at(one.admittedSeconds))
              .length,
        );
        expect(overtakesMax(all)).toBe(Math.max(0, ...counts));
      }),
      { numRuns: 200, seed: 4 },
    );
  });
});

describe("time alone", () => {
  it("is the longest path with waits", () => {
    const rounds = (seconds: number, wait = 0) => [{ promptTokens: 1, outputTokens: seconds, toolWaitSeconds: wait }];
    const graph = { id: "t", arrivalSeconds: 0, workflow: null, graph: null };
    const stages = [
      { id: "a", agent: "x", rounds: rounds(3, 1), after: [] },
      { id: "b", agent: "x", rounds: rounds(10), after: ["a"] },
      { id: "c", agent: "x", rounds: [...rounds(2, 5), ...rounds(2)], after: ["a"] },
      { id: "d", agent: "x", rounds: rounds(1), after: ["b", "c"] },
    ];
    expect(aloneSeconds({ ...graph, stages }, [{ name: "x", prefixTokens: 5 }], (call) => call.outputTokens)).toBe(15);
  });
});
