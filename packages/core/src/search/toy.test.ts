import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import type { Policy } from "../policy/policy.ts";
import { step } from "../step.ts";
import type { State } from "../state.ts";
import { arrive, fresh, policy, ready, stage } from "../testing/builders.ts";

const UNITS = 4;
const PREFIX = 1_000;
const OUTPUT = 40;
const STAGES = ["A", "B", "C"];

interface Interval {
  readonly call: string;
  readonly from: number;
  readonly to: number;
}

const SETUP = 1;

/** Two chains A -> B -> C on an engine with one slot and room for one prefix: setup takes 1 unit, a call 4 (V10). */
function replay(
  chosen: Policy,
  moveSeconds = SETUP,
  ageSeconds = 4,
): { readonly intervals: Interval[]; readonly setups: number } {
  const state = fresh({
    budgetTokens: PREFIX + OUTPUT,
    maxRunning: 1,
    hostTier: false,
    speeds: { prefillSecondsPerToken: moveSeconds / PREFIX, decodeSecondsPerToken: UNITS / OUTPUT },
  });
  state.ageScale.seconds = ageSeconds;
  const due: { at: number; run: () => void }[] = [];
  const intervals: Interval[] = [];
  let setups = 0;
  for (const [task, at] of [
    ["1", 0],
    ["2", 2],
  ] as const)
    due.push({ at, run: () => begin(state, at, task) });

  for (let next = due.shift(); next !== undefined; next = due.shift()) {
    const now = next.at;
    next.run();
    const decision = decide(state, chosen, now);
    step(state, { kind: "committed", at: now, decision });
    for (const { entry } of decision.evict) step(state, { kind: "evicted", at: now, entry, keptOnHost: false });
    for (const { request } of decision.admit) {
      const { spec, prefix } = state.running.get(request)!;
      const cold = state.entries.get(prefix!)!.phase !== "resident";
      if (cold) setups += 1;
      const end = now + (cold ? SETUP : 0) + UNITS;
      intervals.push({ call: spec.id, from: now, to: end });
      due.push({ at: end, run: () => finish(state, end, spec.id) });
    }
    due.sort((a, b) => a.at - b.at);
  }
  return { intervals, setups };
}

function begin(state: State, at: number, task: string): void {
  arrive(state, at, task, {
    stages: STAGES.map((name) => stage(name, UNITS)),
    edges: [
      ["A", "B"],
      ["B", "C"],
    ],
  });
  callStage(state, at, task, "A");
}

function callStage(state: State, at: number, task: string, name: string): void {
  ready(state, at, `${name}${task}`, { task, stage: name, prefix: [name, PREFIX], own: 0, max: OUTPUT, output: OUTPUT });
}

function finish(state: State, at: number, call: string): void {
  const { spec, prefix } = state.running.get(call)!;
  step(state, { kind: "loaded", at, entry: prefix!, computedTokens: PREFIX });
  step(state, { kind: "progress", at, deltas: [{ request: call, prefilled: 0, decoded: OUTPUT }] });
  step(state, { kind: "roundDone", at, request: call, retainedTokens: 0 });
  const next = STAGES[STAGES.indexOf(spec.stage) + 1];
  if (next !== undefined) callStage(state, at, spec.task, next);
}

const SRPT = "A1 0-5, B1 5-10, C1 10-15, A2 15-20, B2 20-25, C2 25-30";
const LPM = "A1 0-5, A2 5-9, B1 9-14, B2 14-18, C1 18-23, C2 23-27";
const text = (intervals: readonly Interval[]): string =>
  intervals.map(({ call, from, to }) => `${call} ${from}-${to}`).join(", ");

describe("the two-chain toy of Fig. 2", () => {
  it.each([
    ["spf", SRPT, 21.5, 30, 6],
    ["lpm", LPM, 24, 27, 3],
  ] as const)("V10: %s", (id, schedule, meanSeconds, end, setups) => {
    const run = replay(policy(id));
    expect(text(run.intervals)).toBe(schedule);
    const ends = (call: string): number => run.intervals.find((one) => one.call === call)!.to;
    expect((ends("C1") - 0 + (ends("C2") - 2)) / 2).toBe(meanSeconds);
    expect(Math.max(...run.intervals.map(({ to }) => to))).toBe(end);
    expect(run.setups).toBe(setups);
  });

  it.each([
    [1, 0, LPM],
    [1, 0.99, LPM],
    [1, 1, SRPT],
    [2, 1.98, LPM],
    [2, 2, SRPT],
  ])(
    "V11: T_move %d s, rho %d: stays with the resident prefix below the threshold, follows age above it",
    (moveSeconds, rho, order) => {
      const { intervals } = replay(policy("topas", { beta: 0, rho, allFits: false }), moveSeconds);
      const calls = (schedule: string): string[] => schedule.split(", ").map((one) => one.split(" ")[0]!);
      expect(calls(text(intervals))).toEqual(calls(order));
    },
  );
});
