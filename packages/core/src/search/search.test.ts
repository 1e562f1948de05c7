import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { victimProgress } from "../preempt/voluntary.ts";
import { mean } from "../reserve/mean.ts";
import { totalSeconds } from "../score/score.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, fresh, policy, ready, stage } from "../testing/builders.ts";
import { history, play, worldConfig } from "../testing/history.ts";
import { createView } from "../view.ts";
import { searchSets } from "./candidates.ts";
import { createEvaluator } from "./evaluate.ts";
import { createPacker } from "./greedy-pack.ts";
import { buildPool } from "./pool.ts";
import { victimsOf } from "./victims.ts";

const RUNS = { numRuns: 60, seed: 7 };
const call = fc.record({
  agent: fc.nat({ max: 4 }),
  task: fc.nat({ max: 3 }),
  own: fc.integer({ min: 0, max: 500 }),
  service: fc.integer({ min: 1, max: 60 }),
  runs: fc.boolean(),
  generated: fc.nat({ max: 200 }),
});
const calls = fc.array(call, { minLength: 1, maxLength: 10 });
type Calls = typeof calls extends fc.Arbitrary<infer T> ? T : never;

/** Tasks whose calls are parallel branches; some run. Every time and every speed is multiplied by `scale`, and moved by `shift`. */
function mixed(list: Calls, { scale = 1, shift = 0 } = {}): State {
  const at = (seconds: number): number => shift + scale * seconds;
  const state = fresh({
    budgetTokens: 4_500,
    redo: "redecode",
    speeds: {
      prefillSecondsPerToken: 0.0003 * scale,
      decodeSecondsPerToken: 0.05 * scale,
      copyBytesPerSecond: 24e9 / scale,
    },
  });
  for (let agent = 0; agent < 5; agent += 2) bringIn(state, at(0), `p${agent}`, 600 + 300 * agent, "host");
  state.ageScale.seconds = 10 * scale;
  for (const task of [0, 1, 2, 3])
    arrive(state, at(task), `t${task}`, {
      stages: list.flatMap((one, i) => (one.task === task ? [stage(`s${i}`, one.service * scale)] : [])),
      edges: [],
    });
  list.forEach(({ agent, task, own, runs, generated }, i) => {
    const prefix = [`p${agent}`, 600 + 300 * agent] as const;
    ready(state, at(5), `r${i}`, { task: `t${task}`, stage: `s${i}`, prefix, own, max: 400, output: 100 });
    if (!runs) return;
    const view = createView(state, at(5), mean);
    const request = state.waiting.get(`r${i}`)!;
    if (view.roomTokens < view.needTokens(request) + prefix[1]) return;
    admit(state, at(5), `r${i}`, view.needTokens(request), scale);
    step(state, { kind: "loaded", at: at(5), entry: request.prefix!, computedTokens: 0 });
    step(state, { kind: "progress", at: at(6), deltas: [{ request: `r${i}`, prefilled: own, decoded: generated }] });
  });
  return state;
}

const actions = (state: State, id: string, now: number, options = {}) => {
  const { preempt, admit: admitted, evict, load } = decide(state, policy(id, options), now);
  return { preempt, admit: admitted.map(({ request }) => request), evict, load };
};

describe("the joint search", () => {
  it("skips only sets that cannot win: its best is the best of every set packed one by one", () => {
    fc.assert(
      fc.property(calls, fc.constantFrom("topas", "topas-nopre", "topas-no-floor", "topas-guarded"), (list, id) => {
        const state = mixed(list);
        const chosen = policy(id, { maxPerDecision: 4 });
        const view = createView(state, 20, mean);
        const pool = buildPool(view, chosen);
        const packer = createPacker(view, chosen.options, pool, victimsOf(view, chosen, pool));
        const evaluator = createEvaluator(view, chosen, pool);
        let best = evaluator.idleReuseSeconds;
        for (let bits = 0; bits < 2 ** pool.groups.length; bits++) {
          const set = Uint8Array.from(pool.groups, (_, i) => (bits >> i) & 1);
          if (!packer.open(set)) continue;
          const bound = packer.bound(-Infinity);
          packer.fill();
          const terms = evaluator.terms(packer, set);
          expect(terms.admit).toBeLessThanOrEqual(bound + 1e-9);
          expect(terms.reuse).toBeLessThanOrEqual(evaluator.mostReuseSeconds + 1e-9);
          best = Math.max(best, totalSeconds(terms));
        }
        const found = searchSets(view, chosen);
        expect(found.best.totalSeconds).toBeCloseTo(best, 6);
        expect(found.best.totalSeconds).toBeGreaterThanOrEqual(found.noop.totalSeconds - 1e-9);
        const local = searchSets(view, policy(id, { maxPerDecision: 4, enumerateUpTo: 0 }));
        expect(local.best.totalSeconds).toBeLessThanOrEqual(found.best.totalSeconds + 1e-9);
      }),
      RUNS,
    );
  });

  it("decides alike when all times and costs are seven times as long, and when all times are moved", () => {
    fc.assert(
      fc.property(calls, (list) => {
        const plain = actions(mixed(list), "topas", 20);
        expect(actions(mixed(list, { scale: 7 }), "topas", 140)).toEqual(plain);
        expect(actions(mixed(list, { shift: 3_600 }), "topas", 3_620)).toEqual(plain);
      }),
      RUNS,
    );
  });

  it("with no costs, one prefix and ample memory admits all", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 16 }), (services) => {
        const state = fresh({ budgetTokens: 100_000, speeds: { prefillSecondsPerToken: 0, copyBytesPerSecond: Infinity } });
        services.forEach((seconds, i) => {
          arrive(state, 0, `t${i}`, { stages: [stage("s", seconds)], edges: [] });
          ready(state, 0, `r${i}`, { task: `t${i}`, stage: "s", prefix: ["P", 1_000] });
        });
        expect(actions(state, "topas", 1, { beta: 0, rho: 0, allFits: false }).admit).toHaveLength(services.length);
      }),
      RUNS,
    );
  });

  it("reports that it reached its work cap, and still decides something feasible", () => {
    const list = Array.from({ length: 10 }, (_, i) => ({
      agent: i % 5,
      task: i % 4,
      own: 60,
      service: 9,
      runs: false,
      generated: 0,
    }));
    const state = mixed(list);
    const capped = policy("topas", { maxEvaluations: 1, enumerateUpTo: 0, allFits: false });
    const decision = decide(state, capped, 20);
    expect(decision.searchTruncated).toBe(true);
    step(state, { kind: "committed", at: 20, decision });
    expect(state.counters["searchTruncated"]).toBe(1);
  });

  it("without preemption never preempts, and guarded with no victim allowed is exactly that", () => {
    fc.assert(
      fc.property(worldConfig, history, (setup, commands) => {
        const { sunkWork, reuseForecast, maxOvertakes } = policy("topas-guarded").options;
        const serving = { reserve: "peak", sunkWork, reuseForecast, maxOvertakes } as const;
        const quiet = play(setup, policy("topas-nopre", serving), commands).world.decisions;
        expect(quiet.every(({ preempt }) => preempt.length === 0)).toBe(true);
        const guard = { young: 0.5, times: 0 };
        const guarded = play(setup, policy("topas-guarded", { victimGuard: guard }), commands).world.decisions;
        const bare = (list: typeof quiet) => list.map((one) => ({ ...one, policy: "" }));
        expect(bare(guarded)).toEqual(bare(quiet));
      }),
      { numRuns: 15, seed: 7 },
    );
  });

  it("guarded preempts no stage more often than allowed, and none past the progress allowed", () => {
    let preempted = 0;
    fc.assert(
      fc.property(worldConfig, history, (setup, commands) => {
        const guarded = policy("topas-guarded", { victimGuard: { young: 0.9, times: 1 } });
        play(setup, guarded, commands, (state, decision) => {
          const view = createView(state, decision.atSeconds, mean);
          for (const { request } of decision.preempt) {
            const victim = state.requests.get(request)!;
            const { task, stage: name } = victim.spec;
            expect(state.tasks.get(task)!.stages.get(name)!.voluntaryPreemptions).toBe(0);
            expect(victimProgress(view, victim, "stage")).toBeLessThanOrEqual(0.9);
            preempted += 1;
          }
        });
      }),
      { numRuns: 40, seed: 7 },
    );
    expect(preempted).toBeGreaterThan(0);
  });
});
