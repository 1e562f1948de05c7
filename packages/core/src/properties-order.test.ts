import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Decision } from "./events.ts";
import { feasible } from "./feasible.ts";
import { policyIds } from "./policy/registry.ts";
import type { State } from "./state.ts";
import { step } from "./step.ts";
import { admit, arrive, call, fresh, policy, ready } from "./testing/builders.ts";
import { history, play, worldConfig } from "./testing/history.ts";
import { createWorld } from "./testing/world.ts";

const GOVERNING = policyIds().filter((id) => id !== "passthrough");
/** Order against age on purpose, or by something that is not age at all. */
const AGELESS: readonly string[] = [
  "cp-first",
  "random-o",
  "topas-no-age",
  "topas-base",
  "oracle-belady",
  "pause-resume",
  "hrrn",
];

const acts = ({ admit: taken, preempt, evict, load }: Decision): unknown => ({
  admit: taken.map(({ request }) => request),
  preempt,
  evict,
  load,
});

describe("age", () => {
  it.each(GOVERNING.filter((id) => !AGELESS.includes(id)))(
    "%s: of two equal calls the one that came earlier, of the older task, goes first",
    (id) => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 400 }), fc.constantFrom(0, 500), (lead, prefix) => {
          const state = fresh({ budgetTokens: 4_000, maxRunning: 1 });
          const one = { own: 300, max: 200, output: 100, ...(prefix === 0 ? {} : { prefix: ["p", prefix] as const }) };
          arrive(state, 0, "z-old");
          step(state, { kind: "ready", at: 0, request: call("z", { task: "z-old", ...one }) });
          arrive(state, lead, "a-young");
          step(state, { kind: "ready", at: lead, request: call("a", { task: "a-young", ...one }) });
          expect(decide(state, policy(id), lead + 1).admit.map(({ request }) => request)).toEqual(["z"]);
        }),
        { numRuns: 12, seed: 7 },
      );
    },
  );
});

describe("size", () => {
  it("a call that can fit an empty engine is admitted by every policy, one that cannot never is", () => {
    const size = fc.record({
      prefix: fc.integer({ min: 0, max: 900 }),
      own: fc.integer({ min: 1, max: 900 }),
      max: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(size, fc.constantFrom(...GOVERNING), ({ prefix, own, max }, id) => {
        const state = fresh({ budgetTokens: 1_024, blockTokens: 16, failsOnOverflow: true });
        ready(state, 0, "r", { own, max, output: max, ...(prefix === 0 ? {} : { prefix: ["p", prefix] as const }) });
        const fits = feasible(state.config, { prefixTokens: prefix, ownPromptTokens: own, maxTokens: max }).ok;
        const { maySleep } = { maySleep: id === "topas-strict" || id === "topas-no-floor" };
        if (!maySleep || !fits) expect(decide(state, policy(id), 0).admit).toHaveLength(fits ? 1 : 0);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("doubling a budget that nothing presses on changes no decision", () => {
    fc.assert(
      fc.property(history, fc.constantFrom(...GOVERNING), (commands, id) => {
        const log = (budgetTokens: number): unknown[] => {
          const out: unknown[] = [];
          const { config } = fresh({ budgetTokens, maxRunning: 64 });
          play(config, policy(id), commands, (_, decision) => void out.push(acts(decision)));
          return out;
        };
        expect(log(2e6)).toEqual(log(1e6));
      }),
      { numRuns: 40, seed: 7 },
    );
  });
});

describe("variants", () => {
  it("topas-guarded with victims at most 0 times is topas-nopre with peak reserve", () => {
    fc.assert(
      fc.property(worldConfig, history, (setup, commands) => {
        const never = policy("topas-guarded", { victimGuard: { young: 0.5, times: 0 } });
        const peak = policy("topas-nopre", { reserve: "peak" });
        play(setup, never, commands, (state, decision) => {
          expect(acts(decide(state, peak, decision.atSeconds))).toEqual(acts(decision));
        });
      }),
      { numRuns: 20, seed: 7 },
    );
  });
});

describe("overtaking", () => {
  it("lpm-age: nobody that came after ceil(match / N) passes overtakes, whatever matches", () => {
    const tokensPerPass = 200;
    const state: State = fresh({ budgetTokens: 3_000, maxRunning: 1 });
    ready(state, 0, "seed", { prefix: ["hot", 1_000], own: 10, max: 1 });
    admit(state, 0, "seed", 11);
    step(state, { kind: "roundDone", at: 0, request: "seed", retainedTokens: 0 });
    const world = createWorld(state, policy("lpm-age", { tokensPerPass }), { outputTokens: () => 1 });
    ready(state, 0, "cold", { own: 10, max: 1 });
    let overtakes = 0;
    for (let i = 0; state.waiting.has("cold") && i < 50; i++) {
      ready(state, world.nowSeconds, `hot${i}`, { prefix: ["hot", 1_000], own: 10, max: 1 });
      world.settle();
      if (state.waiting.has("cold")) overtakes += 1;
      world.tick(1, 64);
      world.tick(1, 64);
    }
    expect(overtakes).toBeGreaterThan(0);
    expect(overtakes).toBeLessThanOrEqual(Math.ceil(1_000 / tokensPerPass) + 1);
  });
});
