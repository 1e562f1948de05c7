import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { createState, type State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, call, config, fresh, policy, ready } from "../testing/builders.ts";
import { createWorld, deciding } from "../testing/world.ts";

const ALONE = { stages: [{ id: "s", agent: "s" }], edges: [] };

/** A call of a task that ends with it. */
function only(state: State, at: number, id: string, options: Parameters<typeof ready>[3]): void {
  arrive(state, at, `task-${id}`, ALONE);
  ready(state, at, id, options);
}

/** A call that has run for `ran` seconds and generated `generated` tokens. */
function running(state: State, id: string, generated: number, options: Parameters<typeof ready>[3]): void {
  only(state, 0, id, options);
  admit(state, 0, id, 300);
  const { ownPromptTokens } = state.requests.get(id)!.spec;
  step(state, { kind: "progress", at: 1, deltas: [{ request: id, prefilled: ownPromptTokens, decoded: generated }] });
}

describe("index swap", () => {
  const LONG = { own: 100, output: 800, max: 800 };
  const SHORT = { own: 100, output: 40, max: 40 };
  const crowded = (redo: "swap" | "reprefill" = "swap"): State => {
    const state = fresh({ budgetTokens: 1_000, redo });
    running(state, "long", 50, LONG);
    only(state, 2, "short", SHORT);
    return state;
  };
  const swaps = (state: State, at: number, id = "kv-index-safe") =>
    decide(state, policy(id), at).preempt.map(({ request }) => request);

  it("takes a far better waiting request for a running one, once that has run four seconds", () => {
    const state = crowded();
    expect(swaps(state, 3.9)).toEqual([]);
    const decision = decide(state, policy("kv-index-safe"), 4);
    expect(decision.preempt).toEqual([{ request: "long", mode: "swap" }]);
    expect(decision.admit.map(({ request }) => request)).toEqual(["short"]);
    expect(decision.wakeAtSeconds).toBeGreaterThan(4);
  });

  it("never on engines that cannot swap, never under kv-index-nopre, and not for a request three times swapped or about to end", () => {
    expect(swaps(crowded("reprefill"), 10)).toEqual([]);
    expect(swaps(crowded(), 10, "kv-index-nopre")).toEqual([]);
    const tired = crowded();
    tired.requests.get("long")!.preemptions = 3;
    expect(swaps(tired, 10)).toEqual([]);
    const ending = fresh({ budgetTokens: 1_000 });
    running(ending, "long", 780, LONG);
    only(ending, 2, "short", SHORT);
    expect(swaps(ending, 10)).toEqual([]);
  });

  it("never when the victim's prefix would have to be computed again", () => {
    for (const hostTier of [true, false]) {
      const state = fresh({ budgetTokens: 2_000, hostTier });
      running(state, "long", 50, { ...LONG, prefix: ["P", 1_000] });
      only(state, 2, "short", SHORT);
      expect(swaps(state, 10)).toEqual(hostTier ? ["long"] : []);
    }
  });

  it("not for a request that is hardly better", () => {
    const state = fresh({ budgetTokens: 1_000 });
    running(state, "long", 50, LONG);
    only(state, 2, "other", { own: 100, output: 700, max: 700 });
    expect(swaps(state, 10)).toEqual([]);
  });
});

describe("regroup", () => {
  it("a lonely agent leaves with its prefix when more requests of better value start in its place", () => {
    const state = fresh({ budgetTokens: 3_200, hostTier: true });
    for (const [id, tokens] of [
      ["A", 2_000],
      ["B", 500],
    ] as const)
      bringIn(state, 0, id, tokens, "resident");
    running(state, "lonely", 50, { prefix: ["A", 2_000], own: 100, output: 600, max: 600 });
    running(state, "b0", 5, { prefix: ["B", 500], own: 50, output: 40, max: 40 });
    for (let i = 1; i < 9; i++) only(state, 2, `b${i}`, { prefix: ["B", 500], own: 150, output: 150, max: 150 });
    const decision = decide(state, policy("kv-index-safe"), 10);
    expect(decision.preempt.map(({ request }) => request)).toEqual(["lonely"]);
    expect(decision.admit.length).toBeGreaterThan(1);
    step(state, { kind: "committed", at: 10, decision });
    expect(state.entries.get("prefix:A")!.users).toBe(0);
    expect(decide(state, policy("kv-index-safe"), 10)).toMatchObject({ preempt: [], admit: [] });
  });
});

describe("property 8: drift", () => {
  it("two agents of which one fits: no request is swapped more than three times, none within four seconds of its admission", () => {
    const state = createState(config({ budgetTokens: 1_600, maxRunning: 8, speeds: { copyBytesPerSecond: 1e18 } }));
    const outputs = new Map<string, number>();
    const admittedAt = new Map<string, number>();
    let swaps = 0;
    const world = createWorld(state, policy("kv-index-safe"), {
      outputTokens: (spec) => outputs.get(spec.id) ?? 1,
      onDecision(before, decision) {
        for (const { request } of decision.preempt) {
          swaps += 1;
          expect(decision.atSeconds - admittedAt.get(request)!).toBeGreaterThanOrEqual(4);
          expect(before.requests.get(request)!.preemptions).toBeLessThan(3);
        }
        for (const { request } of decision.admit) admittedAt.set(request, decision.atSeconds);
      },
    });
    for (let i = 0; i < 160; i++) {
      const agent = i % 2 === 0 ? "X" : "Y";
      const out = i % 5 === 0 ? 400 : 30;
      const spec = call(`r${i}`, { prefix: [agent, 900], own: 40, output: out, max: out });
      outputs.set(spec.id, out);
      step(state, {
        kind: "taskArrived",
        at: world.nowSeconds,
        task: { id: spec.task, tenant: "x", workflow: null, arrivalSeconds: world.nowSeconds },
      });
      deciding(world, { kind: "ready", at: world.nowSeconds, request: spec });
      for (let n = 0; n < 3; n++) world.tick(0.7, 14);
    }
    expect(swaps).toBeGreaterThan(0);
    for (let n = 0; n < 4_000 && state.requests.size > 0; n++) world.tick(0.7, 14);
    expect(state.requests.size).toBe(0);
  });
});
