import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRng } from "../rng.ts";
import { bestMeanJct } from "./optimum.ts";
import { randomPolicy, UNIT_POLICIES } from "./unit-policies.ts";
import type { UnitInstance, UnitTask } from "./unit-engine.ts";
import { runUnit } from "./unit-run.ts";

/** Fig. 2 of arXiv 2608.25523: chain A -> B -> C, one prefix at a time, 4 units a call, setup 1; arrivals 0 and 2. */
const chain: UnitTask["calls"] = [0, 1, 2].map((agent) => ({
  agent,
  units: 4,
  kvTokens: 0,
  after: agent === 0 ? [] : [agent - 1],
}));
const figure2: UnitInstance = {
  agents: [0, 1, 2].map(() => ({ prefixTokens: 1, setupUnits: 1 })),
  tasks: [
    { arrival: 0, calls: chain },
    { arrival: 2, calls: chain },
  ],
  budgetTokens: 1,
  slots: 1,
};

describe("figure 2 (V10)", () => {
  it("shortest remaining path: mean 21.5, makespan 30, six setups", () => {
    const run = runUnit(figure2, UNIT_POLICIES.srpt);
    expect(run.intervals).toEqual([
      [0, 0, 5],
      [1, 5, 10],
      [2, 10, 15],
      [3, 15, 20],
      [4, 20, 25],
      [5, 25, 30],
    ]);
    expect([run.meanJct, run.makespan, run.setups]).toEqual([21.5, 30, 6]);
  });

  it("longest prefix match: mean 24, makespan 27, three setups", () => {
    const run = runUnit(figure2, UNIT_POLICIES.lpm);
    expect(run.intervals).toEqual([
      [0, 0, 5],
      [3, 5, 9],
      [1, 9, 14],
      [4, 14, 18],
      [2, 18, 23],
      [5, 23, 27],
    ]);
    expect([run.meanJct, run.makespan, run.setups]).toEqual([24, 27, 3]);
  });

  it("no schedule has a better mean than 21.5, stopping calls included", () => {
    expect(bestMeanJct(figure2).meanJct).toBe(21.5);
    expect(bestMeanJct({ ...figure2, restarts: true }).meanJct).toBe(21.5);
  });
});

const instances = fc
  .record({
    agents: fc.array(fc.record({ prefixTokens: fc.integer({ min: 0, max: 4 }), setupUnits: fc.integer({ min: 0, max: 2 }) }), {
      minLength: 2,
      maxLength: 3,
    }),
    tasks: fc.array(
      fc.record({
        arrival: fc.integer({ min: 0, max: 6 }),
        calls: fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 3 }), fc.boolean()), {
          minLength: 1,
          maxLength: 3,
        }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    budgetTokens: fc.integer({ min: 7, max: 12 }),
    slots: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ agents, tasks, ...rest }): UnitInstance => ({
    ...rest,
    agents,
    tasks: tasks.map(({ arrival, calls }) => ({
      arrival,
      calls: calls.map(([agent, units, kvTokens, linked], i) => ({
        agent: agent % agents.length,
        units,
        kvTokens,
        after: linked && i > 0 ? [i - 1] : [],
      })),
    })),
  }));

describe("optimum", () => {
  it("is at most what any policy reaches", () => {
    fc.assert(
      fc.property(instances, fc.integer(), (instance, seed) => {
        const best = bestMeanJct(instance).meanJct;
        const policies = [...Object.values(UNIT_POLICIES), ...[1, 2, 3].map((i) => randomPolicy(createRng(seed + i)))];
        for (const policy of policies) expect(runUnit(instance, policy).meanJct).toBeGreaterThanOrEqual(best - 1e-9);
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it("stopping and starting anew never makes it worse, and bounds policies that do so", () => {
    fc.assert(
      fc.property(instances, fc.integer(), (drawn, seed) => {
        const instance = { ...drawn, tasks: drawn.tasks.slice(0, 3) };
        const restarts = { ...instance, restarts: true };
        const best = bestMeanJct(restarts).meanJct;
        expect(best).toBeLessThanOrEqual(bestMeanJct(instance).meanJct + 1e-9);
        for (const i of [1, 2, 3])
          expect(runUnit(restarts, randomPolicy(createRng(seed + i))).meanJct).toBeGreaterThanOrEqual(best - 1e-9);
      }),
      { numRuns: 25, seed: 2 },
    );
  });

  it("random play reaches it on figure 2, so the bound is tight", () => {
    const runs = Array.from({ length: 300 }, (_, seed) => runUnit(figure2, randomPolicy(createRng(seed))).meanJct);
    expect(Math.min(...runs)).toBe(21.5);
  });

  it("refuses an instance too large to try everything", () => {
    const wide = { ...figure2, slots: 4, budgetTokens: 9, tasks: Array.from({ length: 4 }, () => figure2.tasks[0]!) };
    expect(() => bestMeanJct(wide, 50)).toThrow(/more than 50 states/);
  });

  it("stopping gains nothing for one who knows what comes: it idles instead", () => {
    const instance: UnitInstance = {
      agents: [{ prefixTokens: 0, setupUnits: 0 }],
      tasks: [
        { arrival: 0, calls: [{ agent: 0, units: 20, kvTokens: 1, after: [] }] },
        ...[1, 1, 1].map((arrival) => ({ arrival, calls: [{ agent: 0, units: 1, kvTokens: 1, after: [] }] })),
      ],
      budgetTokens: 1,
      slots: 1,
    };
    expect(bestMeanJct(instance).meanJct).toBe((24 + 1 + 2 + 3) / 4);
    expect(bestMeanJct({ ...instance, restarts: true }).meanJct).toBe((24 + 1 + 2 + 3) / 4);
  });
});
