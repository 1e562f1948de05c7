import { makeWorkload, type CallResult } from "@topas/sim";
import { describe, expect, it } from "vitest";
import { withEstimates } from "../grid/estimates.ts";
import { readProfile } from "../profile.ts";
import { loneCallSeconds } from "./alone.ts";
import { isUnstable, trendOf } from "./stability.ts";
import { foresee } from "./truth.ts";
import { waitingOf } from "./waiting.ts";

const profile = readProfile("qwen2.5-32b-a100");

const call = (agent: string, readySeconds: number, admittedSeconds: number, finishedSeconds: number): CallResult =>
  ({ agent, readySeconds, admittedSeconds, finishedSeconds }) as CallResult;

describe("waiting and pinned prefixes", () => {
  const agents = [
    { name: "a", prefixTokens: 1_000 },
    { name: "b", prefixTokens: 3_000 },
  ];
  it("nobody waits: nothing is contended, and the pinned time is counted", () => {
    const { contendedShare, pinnedShare, pinnedPrefixShare } = waitingOf(
      [call("a", 0, 0, 10), call("a", 2, 2, 6)],
      agents,
      10_000,
    );
    expect(contendedShare).toBe(0);
    expect(pinnedShare).toBeCloseTo(0.1, 12);
    expect(pinnedPrefixShare).toEqual([0, 1]);
  });
  it("a call that waits makes the instants contended until it is admitted", () => {
    const seen = waitingOf([call("a", 0, 0, 10), call("b", 4, 10, 20)], agents, 10_000);
    // Instants: 0 no, 4 yes, 10 no (it is admitted there), 20 no.
    expect(seen.contendedShare).toBe(0.25);
    expect(seen.pinnedShare).toBeCloseTo((1_000 * 10 + 3_000 * 10) / (20 * 10_000), 12);
  });
  it("a step's delay is no contention", () => expect(waitingOf([call("a", 0, 0.1, 1)], agents, 10).contendedShare).toBe(0));
});

describe("stability", () => {
  const spans = (time: (i: number) => number) =>
    Array.from({ length: 100 }, (_, i) => ({ arrivalSeconds: i, finishSeconds: i + time(i) }));
  it("constant task times settle, growing ones do not", () => {
    const steady = [1, 2, 3].map((k) => trendOf(spans((i) => 10 + ((i * k) % 3))));
    const growing = [1, 2, 3].map((k) => trendOf(spans((i) => 5 + (0.5 + 0.05 * k) * i)));
    expect(isUnstable(steady)).toBe(false);
    expect(isUnstable(growing)).toBe(true);
  });
  it("one seed that rises among others that fall is chance", () => {
    const trend = (rise: number) => ({ rise, inSystem: 10 });
    expect(isUnstable([trend(12), trend(-5), trend(2), trend(-1)])).toBe(false);
  });
});

it("a lone call takes what the cost model says (simulator 3.3: 8 x 2,000 is batch, one at 1,000 is 44.1 ms a step)", () => {
  const seconds = loneCallSeconds(profile);
  const at = (outputTokens: number): number =>
    seconds({ agent: "a", prefixTokens: 0, historyTokens: 0, promptTokens: 1_000, outputTokens });
  expect((at(201) - at(101)) / 100).toBeCloseTo(0.0441, 3);
  expect(at(1)).toBeGreaterThan(0.28);
  expect(at(1)).toBeLessThan(0.36);
});

describe("what the policy is told", () => {
  const { tasks } = makeWorkload("paper-dag4", { seed: 3, tasks: 4, options: { reveal: "estimates" } });
  const told = (kind: Parameters<typeof withEstimates>[1]) => withEstimates(tasks, kind, 5)[0]!;
  const outputs = (task: ReturnType<typeof told>) => task.graph!.stages.map(({ expectedOutputTokens }) => expectedOutputTokens!);
  it("never changes what happens", () => {
    for (const kind of ["x3", "shuffled", "wrong-graph", "missing"] as const) {
      expect(told(kind).stages.map(({ rounds, after }) => ({ rounds, after }))).toEqual(
        told("right").stages.map(({ rounds, after }) => ({ rounds, after })),
      );
    }
  });
  it("is scaled, shuffled, another graph, or nothing", () => {
    const right = outputs(told("right"));
    expect(outputs(told("x3"))).toEqual(right.map((tokens) => 3 * tokens));
    expect(outputs(told("shuffled")).toSorted((a, b) => a - b)).toEqual(right.toSorted((a, b) => a - b));
    expect(told("wrong-graph").graph!.edges).toHaveLength(3);
    expect(told("missing").graph).toBeNull();
    expect(outputs(told("noise-1"))).toEqual(outputs(told("noise-1")));
  });
});

it("the truth falls with every finished call and ends at zero", () => {
  const workload = makeWorkload("paper-dag4", { seed: 3, tasks: 1 });
  const { truth, onEvent } = foresee(workload, { ...SPEEDS });
  const id = workload.tasks[0]!.id;
  let area = truth.remainingAreaTokenSeconds(id)!;
  expect(truth.remainingPathSeconds(id)!).toBeLessThan(1_500 * SPEEDS.decodeSecondsPerToken + 5);
  for (const { id: stage } of workload.tasks[0]!.stages) {
    onEvent({} as never, { kind: "roundDone", at: 0, request: `${id}/${stage}/0`, retainedTokens: 0 });
    expect(truth.remainingAreaTokenSeconds(id)!).toBeLessThan(area);
    area = truth.remainingAreaTokenSeconds(id)!;
  }
  expect([area, truth.remainingPathSeconds(id)]).toEqual([0, 0]);
  expect(truth.remainingAreaTokenSeconds("nobody")).toBeNull();
});

const SPEEDS = { prefillSecondsPerToken: 0.0003, decodeSecondsPerToken: 0.05 } as Parameters<typeof foresee>[1];
