import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { reuseValue } from "../evict/reuse-value.ts";
import { mean } from "../reserve/mean.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, BLOCK, POOL, createRig, type Rig } from "../testing/rig-e.ts";
import { createView, matchTokens } from "../view.ts";

const RIG = { budgetTokens: POOL * BLOCK, blockTokens: BLOCK, maxRunning: 8 } as const;

describe("K01 dead strangers push out a live prefix", () => {
  function strangers(id: string, rounds: { max: number; mean: number } | undefined): Rig {
    const rig = createRig({ policy: policy(id) });
    const graph = { stages: [stage("CODE", 3, rounds === undefined ? {} : { rounds })], edges: [] };
    const own = { task: "T", stage: "CODE", prefix: AGENT.CODE, own: 208, out: 100 } as const;
    submit(rig, { id: "first", at: 0, graph, ...own });
    [4.5, 5.7, 6.9, 8.1, 9.3, 10.5].forEach((at, i) =>
      submit(rig, { id: `stranger${i}`, at, prefix: [`S${i}`, 4_000], own: 100, out: 20 }),
    );
    submit(rig, { id: "second", at: 12, ...own });
    expect(run(rig)).toBe(true);
    return rig;
  }
  const early = (rig: Rig): string[] => rig.evictions.filter(({ at }) => at < 12).map(({ entry }) => entry);

  it.each(["kv-index-safe", "topas-guarded"])(
    "%s: a task in a tool that will come back keeps its prefix; a finished stranger goes",
    (id) => {
      const rig = strangers(id, { max: 2, mean: 2 });
      expect(rig.calls.get("second")!.cachedTokens).toBe(8_992);
      expect(early(rig)).toEqual(["prefix:S0"]);
    },
  );

  it.each(["kv-index-safe", "topas-guarded"])("%s, variant: without a forecast it is the first victim", (id) => {
    expect(early(strangers(id, undefined))).toEqual(["prefix:CODE"]);
  });

  it("control: recency takes CODE, the oldest", () => {
    const rig = strangers("fcfs", { max: 2, mean: 2 });
    expect(early(rig)).toEqual(["prefix:CODE"]);
    expect(rig.calls.get("second")!.cachedTokens).toBe(0);
  });
});

describe("K03 the cliff when the working set passes the budget", () => {
  /** Share of reusable tokens found in the second lap over m specialists, one call at a time, cycle declared. */
  function secondLap(id: string, m: number): number {
    const rig = createRig({ policy: policy(id) });
    const names = Array.from({ length: m }, (_, i) => `s${i}`);
    const edges = names.map((name, i) => [name, names[(i + 1) % m]!] as const);
    const graph = { stages: names.map((name) => stage(name, 3)), edges, loops: [{ stages: names, max: 2, mean: 2 }] };
    const go = (k: number): void => {
      if (k === 2 * m) return;
      const name = names[k % m]!;
      const onDone = (): void => go(k + 1);
      submit(rig, {
        id: `c${k}`,
        at: rig.nowSeconds,
        task: "T",
        stage: name,
        graph,
        prefix: [name, 4_000],
        own: 200,
        out: 100,
        onDone,
      });
    };
    go(0);
    expect(run(rig)).toBe(true);
    const cached = names.reduce((sum, _, i) => sum + rig.calls.get(`c${m + i}`)!.cachedTokens, 0);
    return cached / (m * 4_000);
  }

  it("nine is the first number whose prefixes and one call exceed the pool", () => {
    const fits = (m: number): boolean => m * 250 + 19 <= POOL;
    expect([8, 9].map(fits)).toEqual([true, false]);
  });

  it("evicting what is needed furthest ahead keeps at least 0.60 at nine, everything up to eight", () => {
    expect(secondLap("kvflow", 8)).toBe(1);
    expect(secondLap("kvflow", 9)).toBeGreaterThanOrEqual(0.6);
  });

  it.each(["topas", "kv-index-safe"])("%s is never below recency", (id) => {
    for (const m of [4, 8, 9, 10, 12]) expect(secondLap(id, m)).toBeGreaterThanOrEqual(secondLap("fcfs", m));
  });

  it("control: recency falls from 1.00 at eight to nearly nothing at nine", () => {
    expect(secondLap("fcfs", 8)).toBe(1);
    expect(secondLap("fcfs", 9)).toBeLessThanOrEqual(0.12);
    expect(secondLap("fcfs", 10)).toBe(0);
  });
});

describe("K04 a clock at the head of the system prompt", () => {
  it.each([
    [0, 0, 0],
    [2_192, 1, 0.00001],
  ])("an effective length of %d tokens leaves %d entries to keep", (tokens, entries, atLeast) => {
    const state = fresh(RIG);
    const graph = {
      stages: [stage("one", 1, { agent: "planner" }), stage("two", 1, { agent: "planner" })],
      edges: [["one", "two"]] as const,
    };
    arrive(state, 0, "t", graph);
    ready(state, 0, "r", { task: "t", stage: "one", agent: "planner", prefix: ["planner", tokens], own: 2_252 - tokens });
    const decision = decide(state, policy("topas"), 0);
    expect(decision.admit).toHaveLength(1);
    step(state, { kind: "committed", at: 0, decision });
    step(state, { kind: "progress", at: 1, deltas: [{ request: "r", prefilled: 2_252 - tokens, decoded: 1 }] });
    expect([...state.entries.values()].map((entry) => entry.cells / BLOCK)).toEqual(entries === 0 ? [] : [137]);
    const value = reuseValue.values(createView(state, 1, mean));
    const sum = [...state.entries.values()].reduce((total, entry) => total + value(entry), 0);
    expect(sum).toBeGreaterThanOrEqual(atLeast);
    if (entries === 0) expect([decision.load, decision.keep]).toEqual([[], []]);
  });
});

describe("K22 everyone's retained KV leaves no room for anyone", () => {
  it("one of the six is broken within the tick, all finish, nobody waits beside an idle engine", () => {
    let idle = 0;
    const rig = createRig({
      policy: policy("topas"),
      retain: () => true,
      onDecision(state, { admit }) {
        if (state.running.size === 0 && state.waiting.size > 0 && admit.length === 0) idle += 1;
      },
    });
    for (let i = 0; i < 6; i++) {
      submit(rig, { id: `a${i}`, at: 0, task: `p${i}`, own: 4_892, out: 100, session: [`s${i}`, 0] });
      submit(rig, { id: `b${i}`, at: 10, task: `p${i}`, own: 7_992, out: 100, session: [`s${i}`, 4_991] });
    }
    expect(run(rig, 9)).toBe(true);
    expect(rig.state.ledger.residentSession).toBe(6 * 312 * BLOCK);
    expect(run(rig)).toBe(true);
    expect(Math.max(...[...rig.calls.values()].map((c) => c.doneSeconds!))).toBeLessThan(10 + 30);
    expect(rig.state.counters["retentionsBroken"] ?? 0).toBeGreaterThanOrEqual(1);
    expect(idle).toBe(0);
  });
});

describe("K24 the agent compacts its history", () => {
  it("reuses the 2,000 shared tokens, and what lies behind is free in the tick of its admission", () => {
    const state = fresh(RIG);
    ready(state, 0, "long", { task: "p", own: 8_900, max: 101, session: ["s", 0] });
    admit(state, 0, "long", 9_008);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "long", prefilled: 8_900, decoded: 101 }] });
    step(state, { kind: "roundDone", at: 1, request: "long", retainedTokens: 9_000 });
    ready(state, 2, "short", { task: "p", own: 3_500, max: 100, session: ["s", 2_000] });
    const view = createView(state, 2, mean);
    expect(matchTokens(view, state.waiting.get("short")!, new Set())).toBe(2_000);
    step(state, { kind: "committed", at: 2, decision: decide(state, policy("topas"), 2) });
    expect(state.running.get("short")!.filledTokens).toBe(2_000);
    expect(state.ledger).toMatchObject({ residentSession: 0, runningKv: 2_000 });
  });

  it("a history nobody extends any more goes before any live prefix", () => {
    const state = fresh({ ...RIG, maxRunning: 2 });
    bringIn(state, 0, "CODE", 8_992, "resident");
    ready(state, 1, "long", { task: "p", own: 8_900, max: 101, session: ["s", 0] });
    admit(state, 1, "long", 9_008);
    step(state, { kind: "progress", at: 2, deltas: [{ request: "long", prefilled: 8_900, decoded: 101 }] });
    step(state, { kind: "roundDone", at: 2, request: "long", retainedTokens: 9_000 });
    ready(state, 3, "other", { task: "p", prefix: ["new", 512], own: 100, max: 10, session: ["s", 0] });
    ready(state, 3, "large", { own: 18_000, max: 100 });
    const decision = decide(state, policy("topas"), 3);
    expect(decision.admit).toHaveLength(2);
    expect(decision.evict.map(({ entry }) => entry)).toEqual(["session:s"]);
  });
});

describe("K57 public prefix, private tail", () => {
  it("one entry serves both tenants; the tail of one is no match for the other", () => {
    const state = fresh(RIG);
    const turn = (id: string, tenant: string, reusable: number): number => {
      if (!state.tasks.has(tenant))
        step(state, { kind: "taskArrived", at: 0, task: { id: tenant, tenant, workflow: null, arrivalSeconds: 0 } });
      ready(state, 0, id, { task: tenant, prefix: AGENT.PLAN, own: 1_700, max: 10, session: [`${tenant}-tail`, reusable] });
      const match = matchTokens(createView(state, 0, mean), state.waiting.get(id)!, new Set());
      admit(state, 0, id, 1_712);
      step(state, { kind: "progress", at: 0, deltas: [{ request: id, prefilled: 1_700 - reusable, decoded: 1 }] });
      step(state, { kind: "roundDone", at: 0, request: id, retainedTokens: 1_600 });
      return match;
    };
    expect([turn("x1", "X", 0), turn("y1", "Y", 0), turn("y2", "Y", 1_600)]).toEqual([0, 6_000, 7_600]);
    expect(state.ledger.residentPrefix).toBe(375 * BLOCK);
  });
});
