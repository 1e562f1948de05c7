import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import { mean } from "./reserve/mean.ts";
import { createGains } from "./score/admit.ts";
import { searchSets } from "./search/candidates.ts";
import { step } from "./step.ts";
import { admit, arrive, bringIn, config, fresh, policy, ready, stage } from "./testing/builders.ts";
import { history, play, worldConfig } from "./testing/history.ts";
import { createView } from "./view.ts";

const RUNS = { numRuns: 40, seed: 7 };
const seconds = fc.integer({ min: 0, max: 40 }).map((n) => n / 4);

describe("gains", () => {
  it("are never negative, and any admission order of one task telescopes to L(nothing) - L(all taken)", () => {
    const branches = fc.array(fc.record({ own: seconds, tail: seconds }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(branches, fc.infiniteStream(fc.nat()), (list, picks) => {
        const state = fresh();
        arrive(state, 0, "t", {
          stages: list.flatMap(({ own, tail }, i) => [stage(`b${i}`, own), stage(`c${i}`, tail)]),
          edges: list.map((_, i) => [`b${i}`, `c${i}`] as const),
        });
        list.forEach((_, i) => ready(state, 0, `r${i}`, { task: "t", stage: `b${i}` }));
        const view = createView(state, 0, mean);
        const gains = createGains(view, { ...policy("topas").options, gainFloor: 0, rho: 0 });
        const left = [...state.waiting.values()];
        const done = new Set<string>();
        let sum = 0;
        while (left.length > 0) {
          const [next] = left.splice(picks.next().value! % left.length, 1);
          const gain = gains.gain(next!, done);
          expect(gain).toBeGreaterThanOrEqual(0);
          sum += gain;
          done.add(next!.spec.stage);
        }
        const path = view.path("t")!;
        expect(sum).toBeCloseTo(path.seconds() - path.seconds((id) => done.has(id)), 9);
      }),
      RUNS,
    );
  });

  it("on a chain equal the current stage's residual, whatever follows", () => {
    fc.assert(
      fc.property(fc.array(seconds, { minLength: 1, maxLength: 6 }), (chain) => {
        const state = fresh();
        arrive(state, 0, "t", {
          stages: chain.map((own, i) => stage(`s${i}`, own)),
          edges: chain.slice(1).map((_, i) => [`s${i}`, `s${i + 1}`] as const),
        });
        ready(state, 0, "r", { task: "t", stage: "s0" });
        const gains = createGains(createView(state, 0, mean), { ...policy("topas").options, rho: 0 });
        expect(gains.gain(state.waiting.get("r")!, undefined)).toBeCloseTo(chain[0]!, 9);
      }),
      RUNS,
    );
  });
});

describe("credits", () => {
  it("equal the sum over running requests, are 0 when idle, and never 0 where work remains", () => {
    let preempted = 0;
    fc.assert(
      fc.property(worldConfig, history, (setup, commands) => {
        const { world, state } = play(setup, policy("topas"), commands, (before, decision) => {
          preempted += decision.preempt.length;
          for (const { request, creditSeconds } of decision.admit) {
            const waiting = before.waiting.get(request)!;
            const view = createView(before, decision.atSeconds, mean);
            if (view.path(waiting.spec.task)!.residual(waiting.spec.stage) > 0) expect(creditSeconds).toBeGreaterThan(0);
          }
        });
        const credit = (): number => [...state.requests.values()].reduce((sum, r) => sum + r.creditSeconds, 0);
        expect(credit()).toBeCloseTo(
          [...state.running.values()].reduce((sum, r) => sum + r.creditSeconds, 0),
          9,
        );
        for (const id of state.requests.keys()) world.send({ kind: "cancelled", at: world.nowSeconds, request: id });
        expect(credit()).toBe(0);
        expect(state.ledger).toMatchObject({ runningKv: 0, promised: 0, pinned: 0, pendingFree: 0 });
      }),
      RUNS,
    );
    expect(preempted).toBeGreaterThan(0);
  });
});

describe("voluntary preemption", () => {
  it("happens in at most one decision of an instant, never to a request admitted in it, and never under topas-nopre", () => {
    for (const id of ["topas", "topas-nopre", "topas-guarded"])
      fc.assert(
        fc.property(worldConfig, history, (setup, commands) => {
          let instant = -1;
          play(setup, policy(id), commands, (state, decision) => {
            if (decision.preempt.length > 0) {
              expect(id).not.toBe("topas-nopre");
              expect(decision.atSeconds).toBeGreaterThan(instant);
              instant = decision.atSeconds;
            }
            if (id !== "topas-guarded") return;
            for (const { request } of decision.preempt) {
              const victim = state.running.get(request)!;
              expect(state.tasks.get(victim.spec.task)!.stages.get(victim.spec.stage)!.voluntaryPreemptions).toBeLessThan(2);
            }
          });
        }),
        RUNS,
      );
  });

  it("V32: after preempt r1, admit r2, the engine refuses r2: no further action at that instant", () => {
    const state = fresh({ budgetTokens: 2_500, redo: "swap" });
    for (const id of ["X", "Y"]) bringIn(state, 0, id, 2_000, "host");
    ready(state, 0, "r1", { prefix: ["X", 2_000], output: 100 });
    step(state, { kind: "loaded", at: 0, entry: "prefix:X", computedTokens: 0 });
    admit(state, 0, "r1", 200, 0);
    ready(state, 5, "r2", { prefix: ["Y", 2_000], output: 300 });
    const decision = decide(state, policy("topas"), 5);
    expect(decision.preempt.map(({ request }) => request)).toEqual(["r1"]);
    expect(decision.admit.map(({ request }) => request)).toEqual(["r2"]);
    step(state, { kind: "committed", at: 5, decision });
    step(state, { kind: "preempted", at: 5, request: "r1", by: "us", keptTokens: 0 });
    for (const { entry } of decision.evict) step(state, { kind: "evicted", at: 5, entry, keptOnHost: true });
    step(state, { kind: "refused", at: 5, request: "r2", reason: "full" });
    ready(state, 5, "r3", { own: 10, max: 10 });
    const next = decide(state, policy("topas"), 5);
    expect([next.preempt, next.admit]).toEqual([[], []]);
    expect(next.wakeAtSeconds).toBeGreaterThan(5);
    expect(decide(state, policy("topas"), next.wakeAtSeconds!).admit.length).toBeGreaterThan(1);
  });
});

describe("search", () => {
  it("never chooses less than doing nothing, and a larger candidate set never scores lower", () => {
    fc.assert(
      fc.property(worldConfig, history, (setup, commands) => {
        play(setup, policy("topas"), commands, (state, decision) => {
          const view = createView(state, decision.atSeconds, mean);
          if (view.waiting.length === 0) return;
          const all = searchSets(view, policy("topas"));
          const local = searchSets(view, policy("topas", { enumerateUpTo: 0 }));
          expect(all.best.totalSeconds).toBeGreaterThanOrEqual(all.noop.totalSeconds - 1e-9);
          expect(all.best.totalSeconds).toBeGreaterThanOrEqual(local.best.totalSeconds - 1e-9);
        });
      }),
      { numRuns: 15, seed: 7 },
    );
  });

  it("with ample memory every skipping policy admits everything, and all policies admit the same", () => {
    for (const id of [
      "fcfs",
      "fcfs-o",
      "lpm",
      "lpm-task-o",
      "task-fcfs-o",
      "topas",
      "topas-nopre",
      "topas-guarded",
      "passthrough",
    ]) {
      const state = fresh({ budgetTokens: 1e6 });
      for (let i = 0; i < 12; i++) ready(state, 0, `r${i}`, { prefix: [`p${i % 5}`, 1_000] });
      expect(decide(state, policy(id), 0).admit).toHaveLength(12);
    }
  });
});

describe("guarded skipping", () => {
  it("bounds the wait of one large request among endless small ones by the hold time plus the longest running call", () => {
    const waits = (id: string): number | null => {
      const setup = config({ budgetTokens: 1_000, maxRunning: 8 });
      const small = Array.from({ length: 300 }, () => ({
        do: "call" as const,
        task: 1,
        stage: 0,
        prefix: 0,
        own: 90,
        max: 100,
        out: 100,
        session: false,
      }));
      let admitted: number | null = null;
      const large = { do: "call" as const, task: 3, stage: 1, prefix: 0, own: 400, max: 300, out: 300, session: false };
      const commands = small.flatMap((one, i) => [
        ...(i === 8 ? [large] : []),
        one,
        { do: "tick" as const, times: 1, seconds: 0.5 },
      ]);
      play(setup, policy(id), commands, (state, decision) => {
        const big = [...state.waiting.values()].find((r) => r.spec.ownPromptTokens === 400);
        if (big !== undefined && decision.admit.some(({ request }) => request === big.spec.id))
          admitted ??= decision.atSeconds - big.readySeconds;
      });
      return admitted;
    };
    expect(waits("lpm-task-g")).not.toBeNull();
    const holdSeconds = 2 * (400 * 0.0003 + 300 * 0.05);
    const longestRunningSeconds = 4 * 0.5;
    expect(waits("lpm-task-g")!).toBeLessThanOrEqual(holdSeconds + longestRunningSeconds + 0.5);
    expect(waits("lpm-task-o") ?? Infinity).toBeGreaterThan(100);
  });
});

describe("sessions on a prefix", () => {
  it("leave before it, and it leaves only with them", () => {
    const state = fresh({ budgetTokens: 5_000 });
    ready(state, 0, "a", { prefix: ["P", 2_000], own: 900, max: 100, session: ["s", 0] });
    admit(state, 0, "a", 1_000);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "a", prefilled: 900, decoded: 100 }] });
    step(state, { kind: "roundDone", at: 1, request: "a", retainedTokens: 1_000 });
    ready(state, 2, "b", { prefix: ["Q", 4_000], own: 100, max: 100 });
    const decision = decide(state, policy("lpm-task-o"), 2);
    expect(decision.evict.map(({ entry }) => entry)).toEqual(["session:s", "prefix:P"]);
    expect(decision.admit).toHaveLength(1);
  });

  it("are worthless to a call on another prefix: dropped, never mistaken for its own tokens", () => {
    const state = fresh({ budgetTokens: 5_000 });
    ready(state, 0, "a", { prefix: ["P", 2_000], own: 900, max: 100, session: ["s", 0] });
    admit(state, 0, "a", 1_000);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "a", prefilled: 900, decoded: 100 }] });
    step(state, { kind: "roundDone", at: 1, request: "a", retainedTokens: 1_000 });
    ready(state, 2, "b", { task: "task-a", own: 3_500, max: 100, session: ["s", 950] });
    const decision = decide(state, policy("topas"), 2);
    expect(decision.admit).toHaveLength(1);
    expect(decision.evict.map(({ entry }) => entry)).toEqual(["session:s", "prefix:P"]);
  });

  it("are taken over by their continuation, which prefills only the rest", () => {
    const state = fresh({ budgetTokens: 5_000 });
    ready(state, 0, "a", { own: 900, max: 100, session: ["s", 0] });
    admit(state, 0, "a", 1_000);
    step(state, { kind: "progress", at: 1, deltas: [{ request: "a", prefilled: 900, decoded: 100 }] });
    step(state, { kind: "roundDone", at: 1, request: "a", retainedTokens: 1_000 });
    ready(state, 2, "b", { task: "task-a", own: 1_500, max: 100, session: ["s", 950] });
    step(state, { kind: "committed", at: 2, decision: decide(state, policy("topas"), 2) });
    expect(state.entries.has("session:s")).toBe(false);
    expect(state.running.get("b")).toMatchObject({ filledTokens: 950, cells: 950 });
    expect(state.ledger).toMatchObject({ residentSession: 0, runningKv: 950 });
  });
});
