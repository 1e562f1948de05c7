import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBlocks } from "./config.ts";
import { policyIds } from "./policy/registry.ts";
import { mean } from "./reserve/mean.ts";
import { createState } from "./state.ts";
import { config, policy } from "./testing/builders.ts";
import { dagTask, playDags } from "./testing/dag.ts";
import { createWorld } from "./testing/world.ts";
import { createView } from "./view.ts";

const GOVERNING = policyIds().filter((id) => id !== "passthrough");
/** Shown to stall or to thrash on purpose (algorithm 1.4, 1.6, 3.5). */
const MAY_STALL: readonly string[] = ["topas-strict", "topas-no-floor"];

const setups = fc
  .record({
    budgetTokens: fc.constantFrom(1_200, 1_600, 4_000),
    blockTokens: fc.constantFrom(1, 16),
    maxRunning: fc.constantFrom(1, 3, 8),
    hostTier: fc.boolean(),
    redo: fc.constantFrom("swap" as const, "reprefill" as const, "redecode" as const),
  })
  .map(config);
const workload = fc.array(dagTask, { minLength: 1, maxLength: 4 });

describe("random task graphs under every policy", () => {
  it.each(GOVERNING.filter((id) => !MAY_STALL.includes(id)))("%s finishes all of them, whatever the budget", (id) => {
    fc.assert(
      fc.property(setups, workload, fc.boolean(), (setup, tasks, lag) => {
        const state = createState(setup);
        const world = createWorld(state, policy(id), { outputTokens: (spec) => spec.maxTokens, lag });
        expect(playDags(world, tasks, 400)).not.toBeNull();
        expect(state.ledger).toMatchObject({ runningKv: 0, promised: 0, pinned: 0, pendingFree: 0 });
      }),
      { numRuns: 4, seed: 7 },
    );
  });

  it("promises never exceed what a call may still generate, and paths stay finite and never negative", () => {
    fc.assert(
      fc.property(setups, workload, fc.constantFrom(...GOVERNING), (setup, tasks, id) => {
        const state = createState(setup);
        const world = createWorld(state, policy(id), {
          outputTokens: (spec) => spec.maxTokens,
          onDecision(before, decision) {
            for (const { spec, promisedTokens } of before.running.values())
              expect(promisedTokens).toBeLessThanOrEqual(toBlocks(setup, spec.ownPromptTokens + spec.maxTokens));
            const view = createView(before, decision.atSeconds, mean);
            for (const task of before.tasks.keys()) {
              const seconds = view.path(task)!.seconds();
              expect(Number.isFinite(seconds) && seconds >= 0).toBe(true);
            }
          },
        });
        playDags(world, tasks, 60);
      }),
      { numRuns: 30, seed: 7 },
    );
  });

  it("nobody is preempted by choice before it got anywhere, unless a policy has no guard against it", () => {
    const guarded = GOVERNING.filter((id) => !policy(id).preempt.voluntary || policy(id).options.victimGuard !== null);
    let preempted = 0;
    fc.assert(
      fc.property(setups, workload, fc.constantFrom(...guarded), (setup, tasks, id) => {
        const state = createState(setup);
        const chosen = policy(id);
        const world = createWorld(state, chosen, {
          outputTokens: (spec) => spec.maxTokens,
          onDecision(before, { preempt }) {
            for (const { request } of preempt) {
              preempted += 1;
              const victim = before.running.get(request)!;
              expect(victim.decodedTokens + victim.redoneTokens).toBeGreaterThan(0);
            }
          },
        });
        playDags(world, tasks, 60);
      }),
      { numRuns: 30, seed: 7 },
    );
    expect(preempted).toBeGreaterThanOrEqual(0);
  });
});
