import { readFileSync } from "node:fs";
import { createPolicy, policyIds } from "@topas/core";
import { describe, expect, it } from "vitest";
import { armsOf, readConditions, type Condition } from "./conditions.ts";
import type { Cell } from "./grid/cell.ts";
import { AS_PRESET } from "./grid/grid.ts";
import { workloadOf } from "./run/workload.ts";

const conditions = readConditions();
const shared = (condition: Condition): Omit<Condition, "policy"> & { policy: null } => ({ ...condition, policy: null });

describe("the four conditions (ruvnet/ruflo#3141)", () => {
  it("are A, B, C and D", () => expect(conditions.map(({ policy }) => policy.condition)).toEqual(["A", "B", "C", "D"]));

  it("differ in one key, policy, and in nothing else", () => {
    for (const each of conditions) expect(shared(each)).toEqual(shared(conditions[0]!));
  });

  it("name policies the core knows, and reserves that are theirs", () => {
    for (const { policy } of conditions)
      for (const arm of policy.arms) {
        if (arm.rules !== "joint") expect(arm.policy).toBeUndefined();
        else {
          expect(policyIds()).toContain(arm.policy);
          const { order, reserve } = createPolicy(arm.policy!, arm.fit === undefined ? {} : { fit: arm.fit })!;
          expect([arm.name, order.id.length > 0, reserve.id]).toEqual([arm.name, true, arm.reserve]);
        }
      }
  });

  it("run on identical arrivals, prompts, lengths, limits, tool waits, budget, profile and seeds", () => {
    for (const workload of [...conditions[0]!.workloads, "tl-9"])
      for (const seed of conditions[0]!.seeds.slice(0, 3)) {
        const hashes = conditions.flatMap(({ policy, ...c }) =>
          policy.arms.slice(0, 2).map((arm) => {
            const cell: Cell = {
              workload,
              variant: AS_PRESET,
              arrival: c.arrivals[0]!,
              load: c.loads[0]!,
              ratePerSecond: 0.1,
              profile: c.profile,
              budgetTokens: c.budgets[0]!,
              hostTier: c.hostTiers[0]!,
              reserve: "own",
              arm: { ...arm, condition: policy.condition },
              seed,
              tasks: 20,
              warmupTasks: 5,
            };
            return workloadOf(cell).inputs;
          }),
        );
        expect(new Set(hashes).size).toBe(1);
      }
  });

  it("give another fingerprint for another seed", () => {
    const base = { workload: "paper-sop", variant: AS_PRESET, arrival: "poisson", load: 0.8, ratePerSecond: 0.1 } as const;
    const rest = {
      profile: "qwen2.5-32b-a100",
      budgetTokens: 20_000,
      hostTier: "pcie",
      reserve: "own",
      tasks: 5,
      warmupTasks: 0,
    } as const;
    expect(workloadOf({ ...base, ...rest, seed: 1 }).inputs).not.toBe(workloadOf({ ...base, ...rest, seed: 2 }).inputs);
  });

  it("have a name of their own for every arm", () => expect(armsOf(conditions).size).toBeGreaterThan(30));
});

it("the files say which key may differ", () => {
  const text = readFileSync(new URL("../conditions/d-joint.yaml", import.meta.url), "utf8");
  expect(text).toContain("differ in the key `policy`");
});
