import { expect, it } from "vitest";
import { decayed, historyOf, SERVICE_HALF_LIFE, USES_HALF_LIFE } from "./history.ts";
import { step } from "./step.ts";
import { admit, arrive, fresh, ready } from "./testing/builders.ts";

it("counts prompt tokens, waits, passes, decayed service and uses", () => {
  const state = fresh();
  arrive(state, 0, "t");
  ready(state, 0, "a", { task: "t", stage: "a", prefix: ["p", 200], own: 100 });
  ready(state, 0, "b", { task: "t", stage: "b", own: 50 });
  admit(state, 4, "a", 200);
  const history = historyOf(state)!;
  expect(history.tasks.get("t")).toMatchObject({ passesMark: 0, waitedSeconds: 4 });
  expect(history.calls.get("b")).toEqual({ prefilledMark: 0, waitingSince: 0 });
  expect(history.contended).toEqual([1]);
  step(state, { kind: "loaded", at: 5, entry: "prefix:p", computedTokens: 200 });
  step(state, { kind: "progress", at: 5, deltas: [{ request: "a", prefilled: 100, decoded: 0 }] });
  step(state, { kind: "progress", at: 6, deltas: [{ request: "a", prefilled: 0, decoded: 60 }] });
  expect(history.prefilledTokens).toBe(300);
  step(state, { kind: "roundDone", at: 10, request: "a", retainedTokens: 0 });
  expect(history.calls.has("a")).toBe(false);
  const { service } = history.tasks.get("t")!;
  expect(decayed(service, 10, SERVICE_HALF_LIFE)).toBe(300 + 2 * 60);
  expect(decayed(service, 70, SERVICE_HALF_LIFE)).toBe(210);
  expect(decayed(history.uses.get("prefix:p"), 304, USES_HALF_LIFE)).toBe(0.5);
  admit(state, 12, "b", 100);
  expect(history.tasks.get("t")!.waitedSeconds).toBe(16);
  step(state, { kind: "preempted", at: 13, request: "b", by: "engine", keptTokens: 0 });
  admit(state, 20, "b", 100);
  expect(history.tasks.get("t")!.waitedSeconds).toBe(23);
  step(state, { kind: "cancelled", at: 21, request: "b" });
  step(state, { kind: "taskDone", at: 21, task: "t" });
  expect(history.tasks.size + history.calls.size).toBe(0);
});

it("the reserve ratio falls by steps, is reset when idle and set by a retraction", () => {
  const state = fresh();
  for (const id of ["a", "b"]) {
    ready(state, 0, id, { own: 100, max: 1_000 });
    admit(state, 0, id, 200);
  }
  const history = historyOf(state)!;
  step(state, { kind: "progress", at: 1, deltas: [{ request: "a", prefilled: 100, decoded: 300 }] });
  expect(history.reserveRatio).toBeCloseTo(0.7 - 0.602 / 2, 9);
  step(state, { kind: "preempted", at: 2, request: "b", by: "engine", keptTokens: 0 });
  expect(history.reserveRatio).toBeCloseTo(320 / 1_000, 9);
  step(state, { kind: "roundDone", at: 3, request: "a", retainedTokens: 0 });
  expect(history.reserveRatio).toBe(0.7);
});

it("learns how wrong expected outputs are", () => {
  const state = fresh();
  ready(state, 0, "r", { own: 10, output: 100 });
  admit(state, 0, "r", 200);
  step(state, { kind: "progress", at: 1, deltas: [{ request: "r", prefilled: 10, decoded: 50 }] });
  step(state, { kind: "roundDone", at: 2, request: "r", retainedTokens: 0 });
  expect(historyOf(state)!.outputError).toBeGreaterThan(0);
});
