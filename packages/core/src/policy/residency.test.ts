import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { lognormal95, returnChance } from "../evict/saga.ts";
import { fixedSecondsToKeep } from "../evict/ttl-fixed.ts";
import { mean } from "../reserve/mean.ts";
import { engine } from "../reserve/engine.ts";
import { current } from "../reserve/current.ts";
import { peak } from "../reserve/peak.ts";
import { program } from "../reserve/program.ts";
import type { EntryState, State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import { createView } from "../view.ts";
import type { Truth } from "./baseline-options.ts";

function valueOf(
  state: State,
  at: number,
  id: string,
  changes = {},
): (entry: `prefix:${string}` | `session:${string}`) => number {
  const rule = policy(id, changes);
  const values = rule.evict.values(createView(state, at, mean));
  return (entry) => values(state.entries.get(entry) as EntryState);
}

/** A round of task t that leaves a session of this many tokens at `at`. */
function round(state: State, at: number, task: string, tokens: number): void {
  arrive(state, at, task, { stages: [stage("s", 9, { rounds: { max: 5, mean: 3 } })], edges: [] });
  ready(state, at, `${task}.1`, { task, own: tokens, max: 10, session: [task, 0] });
  admit(state, at, `${task}.1`, tokens + 10);
  step(state, { kind: "progress", at, deltas: [{ request: `${task}.1`, prefilled: tokens, decoded: 1 }] });
  step(state, { kind: "roundDone", at, request: `${task}.1`, retainedTokens: tokens });
}

describe("retention", () => {
  it("ttl-fixed: 2 s for a fast or unknown tool, else nothing; dropped after that unless the next round waits", () => {
    expect(fixedSecondsToKeep([], 2)).toBe(2);
    expect(fixedSecondsToKeep([1, 3], 2)).toBe(2);
    expect(fixedSecondsToKeep([1, 3.1], 2)).toBe(0);
    const state = fresh();
    round(state, 0, "t", 500);
    round(state, 1, "u", 500);
    expect(decide(state, policy("ttl-fixed"), 1.5).evict).toEqual([]);
    expect(decide(state, policy("ttl-fixed"), 2.5).evict.map(({ entry }) => entry)).toEqual(["session:t"]);
    ready(state, 2.5, "t.2", { task: "t", own: 600, session: ["t", 500] });
    expect(decide(state, policy("ttl-fixed"), 4).evict.map(({ entry }) => entry)).toEqual(["session:u"]);
  });

  it("ttl orders serve a program whose KV is held before an older task", () => {
    const state = fresh({ maxRunning: 1 });
    arrive(state, 0, "older");
    round(state, 1, "t", 500);
    ready(state, 2, "t.2", { task: "t", own: 600, session: ["t", 500] });
    ready(state, 2, "older.1", { task: "older" });
    for (const id of ["ttl-fixed", "ttl-cdf", "saga-like"]) expect(decide(state, policy(id), 2).admit[0]!.request).toBe("t.2");
    expect(decide(state, policy("task-fcfs"), 2).admit[0]!.request).toBe("older.1");
  });

  it("saga: 95th percentile of a lognormal, at most 300 s; chances shrink as the wait goes on", () => {
    expect(lognormal95([2, 2, 2])).toBeCloseTo(2, 9);
    expect(lognormal95([Math.exp(-1), Math.exp(1)])).toBeCloseTo(Math.exp(1.6448536), 5);
    expect(lognormal95([500, 900])).toBe(300);
    expect(returnChance([1, 2, 3, 4], 0, 3)).toBe(0.75);
    expect(returnChance([1, 2, 3, 4], 2.5, 3)).toBe(0.5);
    expect(returnChance([1, 2, 3, 4], 3.5, 3)).toBe(0);
    expect(returnChance([], 0, 3)).toBe(0.5);
  });

  it("astraea: sessions are kept by rebuild cost below 70 % use, and are ordinary above", () => {
    const state = fresh({ budgetTokens: 2_000 });
    round(state, 0, "t", 500);
    expect(valueOf(state, 1, "astraea-hrrn")("session:t")).toBeCloseTo(500 * 0.0003, 9);
    ready(state, 1, "big", { own: 1_300, max: 200 });
    admit(state, 1, "big", 1_500);
    expect(valueOf(state, 1, "astraea-hrrn")("session:t")).toBe(0);
  });
});

describe("prefixes", () => {
  function twoStages(): State {
    const state = fresh({ budgetTokens: 3_000 });
    bringIn(state, 0, "B", 400, "resident");
    bringIn(state, 0, "C", 400, "resident");
    bringIn(state, 0, "N", 400, "resident");
    arrive(state, 0, "t", {
      stages: [stage("A", 1), stage("B", 1), stage("C", 1)],
      edges: [
        ["A", "B"],
        ["B", "C"],
      ],
    });
    for (const name of ["B", "C"]) {
      ready(state, 0, `probe${name}`, { task: `p${name}`, stage: name, agent: name, prefix: [name, 400] });
      step(state, { kind: "cancelled", at: 0, request: `probe${name}` });
    }
    ready(state, 0, "A", { task: "t", stage: "A", agent: "A" });
    admit(state, 0, "A", 300);
    return state;
  }

  it("kvflow: the farther the next use, the sooner a prefix leaves", () => {
    const value = valueOf(twoStages(), 1, "kvflow");
    expect(value("prefix:B")).toBeGreaterThan(value("prefix:C"));
    expect(value("prefix:C")).toBeGreaterThan(value("prefix:N"));
  });

  it("workload-evict: rebuild cost x dependants x use rate", () => {
    const state = twoStages();
    ready(state, 1, "more", { task: "m", stage: "B", agent: "B", prefix: ["B", 400] });
    admit(state, 1, "more", 300);
    step(state, { kind: "roundDone", at: 1, request: "more", retainedTokens: 0 });
    const now = valueOf(state, 1, "workload-evict");
    const later = valueOf(state, 301, "workload-evict");
    expect(now("prefix:B")).toBeGreaterThan(0);
    expect(later("prefix:B")).toBeCloseTo(now("prefix:B") / 2, 9);
  });

  it("oracle-belady: the entry truly used last leaves first; never used before that", () => {
    const truth: Truth = {
      outputTokens: () => null,
      remainingAreaTokenSeconds: () => null,
      remainingPathSeconds: () => null,
      nextUseSeconds: (entry) => ({ "prefix:B": 50, "prefix:C": 5 })[entry] ?? Infinity,
    };
    const value = valueOf(twoStages(), 1, "oracle-belady", { truth });
    expect(value("prefix:C")).toBeGreaterThan(value("prefix:B"));
    expect(value("prefix:B")).toBeGreaterThan(value("prefix:N"));
    expect(value("prefix:N")).toBe(0);
  });
});

describe("reserves", () => {
  it("engine: newcomers q + min(max, 4096), running calls d + min(max - y, 4096) x ratio", () => {
    const state = fresh({ budgetTokens: 100_000 });
    ready(state, 0, "new", { own: 100, max: 10_000 });
    ready(state, 0, "run", { own: 100, max: 1_000 });
    admit(state, 0, "run", 1_100);
    const view = () => createView(state, 0, engine);
    expect(engine.need(view(), state.waiting.get("new")!)).toBe(100 + 4_096);
    expect(engine.promised(view(), [...state.running.values()])).toBe(100 + 700);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "run", prefilled: 100, decoded: 600 }] });
    expect(engine.promised(view(), [...state.running.values()])).toBe(Math.ceil(700 + 400 * 0.098));
  });

  it("current promises what is held; program 100 tokens more, within the client's limit", () => {
    const state = fresh();
    ready(state, 0, "r", { own: 100, max: 50 });
    ready(state, 0, "long", { own: 100, max: 500 });
    const view = createView(state, 0, mean);
    const need = (reserve: typeof mean, id: string) => reserve.need(view, state.waiting.get(id)!);
    expect([need(current, "r"), need(program, "r"), need(program, "long")]).toEqual([100, 150, 200]);
  });

  it("a receipt's reservation replaces the expected output, up to the client's limit", () => {
    for (const [asked, newcomer] of [
      [350, 350],
      [9_000, 600],
      [50, 132],
    ] as const) {
      const state = fresh();
      for (const id of ["r", "s"]) ready(state, 0, id, { own: 100, max: 500, output: 200 });
      step(state, { kind: "receiptUpdated", at: 0, task: "task-r", stage: null, hints: { reserveTokens: asked } });
      for (const chosen of ["lpm-task", "topas-guarded", "kv-index-safe"]) {
        const { admit: taken } = decide(state, policy(chosen), 0);
        expect(taken.find(({ request }) => request === "r")?.needTokens).toBe(newcomer);
        expect(taken.find(({ request }) => request === "s")?.needTokens).toBeLessThan(310);
      }
      admit(state, 1, "r", newcomer);
      const view = createView(state, 1, peak);
      expect(peak.promised(view, view.running)).toBe(Math.max(newcomer, asked === 50 ? 300 : 0));
    }
  });

  it("oracle-reserve promises true lengths", () => {
    const state = fresh();
    ready(state, 0, "r", { own: 100, max: 500, output: 400 });
    const truth: Truth = {
      outputTokens: () => 60,
      remainingAreaTokenSeconds: () => null,
      remainingPathSeconds: () => null,
      nextUseSeconds: () => null,
    };
    expect(decide(state, policy("oracle-reserve", { truth }), 0).admit[0]!.needTokens).toBe(160);
    expect(decide(state, policy("oracle-reserve"), 0).admit[0]!.needTokens).toBeGreaterThan(400);
  });
});
