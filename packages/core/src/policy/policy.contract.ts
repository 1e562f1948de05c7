import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import type { Decision } from "../events.ts";
import { roomTokens } from "../ledger.ts";
import { createState, type State } from "../state.ts";
import { step } from "../step.ts";
import { arrive, call, config, ready } from "../testing/builders.ts";
import { command, play, worldConfig } from "../testing/history.ts";
import { createWorld } from "../testing/world.ts";
import type { Policy } from "./policy.ts";

/** Short, since some sixty policies run through it. */
const RUNS = { numRuns: 5, seed: 7 };
/** Looking at a whole state is dear: at one decision in so many. */
const LOOK_EVERY = 4;
/**
 * Orders by what is believed of a task. Admitting one of its calls refreshes that (samples are frozen until the task has an
 * event), so the calls it leaves waiting may change places once.
 */
const BY_ESTIMATE = new Set(["spf", "cp-first", "srpt-w", "srpt-w-age", "srpt-true", "hrrn-task", "astraea"]);
const history = fc.array(command, { minLength: 5, maxLength: 40 });

/** What every policy owes, whatever it prefers. `createWorld` checks the ledgers after every event. */
export function policyContract(make: () => Policy): void {
  const policy = make();
  // A newcomer pays in full under peak reserve and less once it runs, so another may fit; searches are capped per decision.
  const mostDecisions = policy.order.kind === "keys" && policy.reserve.id !== "peak" && !BY_ESTIMATE.has(policy.order.id) ? 1 : 4;

  const stalls = policy.options.neverStalls ? "" : " (skipped: this variant exists to show stalling)";

  describe(policy.id, () => {
    it("K18 the plan changes while it is being made: the state is left as it was, twice gives one decision, the next one is empty", () => {
      fc.assert(
        fc.property(worldConfig, history, (setup, commands) => {
          let decisions = 0;
          let streak = 0;
          let last = -1;
          play(setup, policy, commands, (state, decision) => {
            if (decisions++ % LOOK_EVERY === 0) {
              const before = print(state);
              expect(decide(state, make(), decision.atSeconds)).toEqual(decision);
              expect(print(state) === before).toBe(true);
            }
            consistent(state, decision, policy.reserve.id === "peak");
            const acts = decision.admit.length + decision.preempt.length + decision.load.length + decision.evict.length > 0;
            streak = state.nowSeconds === last && acts ? streak + 1 : 0;
            last = acts ? state.nowSeconds : -1;
            expect(streak).toBeLessThan(mostDecisions);
          });
        }),
        RUNS,
      );
    });

    it("keeps both ledgers through random histories and comes to rest at a frozen clock", () => {
      fc.assert(
        fc.property(worldConfig, history, fc.boolean(), (setup, commands, lag) => {
          play(setup, policy, commands, undefined, lag);
        }),
        RUNS,
      );
    });

    it("settles at once when many wait: one decision for key orders, a few for a search", () => {
      const state = stateOf([...Array(10).keys()]);
      let decisions = 0;
      for (let decision = decide(state, policy, 10); decision.admit.length > 0; decision = decide(state, policy, 10)) {
        step(state, { kind: "committed", at: 10, decision });
        decisions += 1;
      }
      expect(decisions).toBeLessThanOrEqual(mostDecisions);
    });

    it("decides alike whatever the order of insertion", () => {
      fc.assert(
        fc.property(fc.shuffledSubarray([...Array(10).keys()], { minLength: 10 }), (order) => {
          const natural = decide(stateOf([...order].sort((a, b) => a - b)), policy, 10);
          const shuffled = decide(stateOf(order), policy, 10);
          expect(actions(shuffled)).toEqual(actions(natural));
        }),
        RUNS,
      );
    });

    it.skipIf(stalls !== "")(`never leaves an idle engine beside a waiting request that fits${stalls}`, () => {
      fc.assert(
        fc.property(worldConfig, history, (setup, commands) => {
          const { world, state } = play(setup, policy, commands);
          for (let i = 0; i < 3; i++) world.tick(5, 64);
          if (state.running.size === 0) expect(state.waiting.size).toBe(0);
        }),
        RUNS,
      );
    });

    it("K22 everyone's retained KV leaves no room for anyone: retention never blocks admission", () => {
      const state = createState(config({ budgetTokens: 2_048 * 16, blockTokens: 16, maxRunning: 8 }));
      const world = createWorld(state, policy, { outputTokens: () => 100, retain: () => true });
      for (let i = 0; i < 6; i++) ready(state, 0, `first${i}`, { task: `t${i}`, own: 4_892, max: 100, session: [`s${i}`, 0] });
      world.settle();
      for (let i = 0; i < 20; i++) world.tick(0.5, 2_048);
      expect(state.running.size).toBe(0);
      if (policy.evict.expired === undefined) expect(state.ledger.residentSession).toBeGreaterThan(28_000);
      for (let i = 0; i < 6; i++)
        ready(state, world.nowSeconds, `second${i}`, { task: `t${i}`, own: 8_000, max: 100, session: [`s${i}`, 4_992] });
      expect(world.settle()).toBeGreaterThan(0);
      expect(state.running.size).toBeGreaterThan(0);
      for (let i = 0; i < 40; i++) world.tick(0.5, 2_048);
      expect(state.requests.size).toBe(0);
    });

    it.skipIf(!policy.options.neverStalls)(
      "degenerate calls: nothing to share, nothing to prefill, nothing to generate, a budget of one call",
      () => {
        const state = createState(config({ budgetTokens: 32, maxRunning: 2 }));
        const world = createWorld(state, policy, { outputTokens: () => 1 });
        arrive(state, 0, "empty", { stages: [], edges: [] });
        for (const [i, own] of [0, 0, 1, 30].entries())
          ready(state, 0, `r${i}`, {
            task: i === 0 ? "empty" : `t${i}`,
            own,
            max: i % 2,
            output: 0,
            prefix: [`p${i}`, i === 1 ? 1 : 0],
          });
        world.settle();
        for (let i = 0; i < 12; i++) world.tick(1, 32);
        expect(state.requests.size).toBe(0);
      },
    );

    it("K75 the wall clock jumps: moving all times by a constant changes nothing", () => {
      const at = (shift: number) => actions(decide(stateOf([...Array(10).keys()], shift), policy, 10 + shift));
      expect(at(3_600)).toEqual(at(0));
    });
  });
}

/** Instant at which one large call among endless small ones is admitted; Infinity: not within a minute. */
export function largeCallSeconds(policy: Policy): number {
  const state = createState(config({ budgetTokens: 1_000, maxRunning: 16 }));
  const world = createWorld(state, policy, { outputTokens: (spec) => spec.maxTokens });
  for (let at = 1; at <= 60; at++) {
    for (let i = 0; i < 2; i++) ready(state, at, `small${at}-${i}`, { own: 100, max: 10, output: 10 });
    if (at === 6) ready(state, at, "large", { own: 700, max: 10, output: 10 });
    world.tick(1, 25);
    if (state.running.has("large")) return at - 6;
  }
  return Infinity;
}

/** Under `guarded` skipping ends with the hold time (10 s here), and what runs then ends within some 5 s. */
export function guardContract(id: string, make: () => Policy): void {
  it(`${id}: skipping is bounded`, () => {
    expect(largeCallSeconds(make())).toBeLessThanOrEqual(20);
  });
}

/** A victim appears nowhere else, nobody is taken twice, and what is admitted fits the promise ledger (peak: not by the plain sum). */
function consistent(state: State, decision: Decision, peak: boolean): void {
  const victims = decision.preempt.map(({ request }) => request);
  const admitted = decision.admit.map(({ request }) => request);
  const evicted = decision.evict.map(({ entry }) => entry);
  expect(new Set([...victims, ...admitted]).size).toBe(victims.length + admitted.length);
  expect(new Set(evicted).size).toBe(evicted.length);
  for (const id of admitted) {
    const request = state.waiting.get(id)!;
    expect(request.prefix === null || !evicted.includes(request.prefix)).toBe(true);
  }
  for (const { creditSeconds, needTokens } of decision.admit) {
    expect(Number.isFinite(creditSeconds) && creditSeconds >= 0).toBe(true);
    expect(Number.isFinite(needTokens) && needTokens >= 0).toBe(true);
  }
  for (const why of decision.why) {
    if (!("candidate" in why)) continue;
    for (const term of Object.values(why.terms)) expect(Number.isFinite(term)).toBe(true);
  }
  if (decision.policy === "passthrough") return;
  expect(state.running.size - victims.length + admitted.length).toBeLessThanOrEqual(state.config.maxRunning);
  if (admitted.length > 0 && victims.length === 0 && !peak) expect(roomTokens(state)).toBeGreaterThanOrEqual(0 - 1e-9);
  const named = new Set(decision.why.flatMap((why) => ("request" in why ? [why.request] : [])));
  for (const id of state.waiting.keys()) if (decision.why.length > 0) expect(named.has(id)).toBe(true);
}

/** Everything in a state as text. */
function print(state: State): string {
  return JSON.stringify(state, (_, value: unknown) => {
    if (value instanceof Map || value instanceof Set || value instanceof Float64Array) return [...value];
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  });
}

function stateOf(order: readonly number[], shift = 0): State {
  const state = createState(config({ budgetTokens: 6_000 }));
  for (const i of order) arrive(state, shift, `t${i % 5}`, undefined, shift - (i % 5));
  for (const i of order)
    step(state, {
      kind: "ready",
      at: shift + 10,
      request: call(`r${i}`, {
        task: `t${i % 5}`,
        stage: `s${i}`,
        prefix: [`p${i % 4}`, 1_500],
        own: 100 + 50 * i,
        output: 50 * (i + 1),
      }),
    });
  return state;
}

function actions(decision: Decision): unknown {
  const { preempt, evict, load, admit } = decision;
  return { preempt, evict, load, admit };
}
