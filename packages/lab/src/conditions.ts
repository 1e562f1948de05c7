import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";

/** One row of a condition: a scheduler and the options it runs with. `rules` other than joint: the stock engine decides. */
export const Arm = z.strictObject({
  name: z.string().min(1),
  rules: z.enum(["sglang-0.5.x", "vllm-0.11", "vllm-0.19", "joint"]).default("joint"),
  engineOrder: z.enum(["fcfs", "lpm"]).optional(),
  policy: z.string().optional(),
  fit: z.enum(["stop", "over", "guarded"]).optional(),
  reserve: z.enum(["none", "engine", "mean", "peak", "current", "full", "program"]).optional(),
  redo: z.enum(["redecode", "reprefill", "swap"]).optional(),
  options: z.record(z.string(), z.json()).optional(),
  /** References only: the policy is told what will happen. */
  truth: z.literal(true).optional(),
  /** References only: the true lengths are declared at arrival, and nothing learned is mixed in. */
  foretold: z.literal(true).optional(),
  /** References only: the budget times this. */
  budgetFactor: z.number().positive().optional(),
});
export type Arm = z.infer<typeof Arm> & { readonly condition: ConditionName };

export const ConditionName = z.enum(["A", "B", "C", "D", "reference"]);
export type ConditionName = z.infer<typeof ConditionName>;

const positive = z.number().positive();
const names = z.array(z.string()).min(1);

/** A file of `conditions/`: what is measured, and in `policy` alone by which scheduler (issue ruvnet/ruflo#3141). */
export const Condition = z.strictObject({
  schema: z.literal("topas.condition/1"),
  workloads: names,
  arrivals: names,
  loads: z.array(positive).min(1),
  budgets: z.array(positive.int()).min(1),
  hostTiers: z.array(z.enum(["none", "pcie", "slow"])).min(1),
  profile: z.string(),
  maxTokens: z.union([z.enum(["preset", "exact", "tight", "typical", "loose", "unset"]), positive.int()]),
  tasks: positive.int(),
  warmupTasks: z.number().int().nonnegative(),
  seeds: z.array(z.number().int()).min(1),
  policy: z.strictObject({ condition: ConditionName, title: z.string(), arms: z.array(Arm).min(1) }),
});
export type Condition = z.infer<typeof Condition>;

/** Of this package, beside `src` and `dist`. */
export const CONDITIONS_DIR = fileURLToPath(new URL("../conditions/", import.meta.url));

/** @throws ZodError naming the field. */
export function readCondition(path: string): Condition {
  return Condition.parse(parse(readFileSync(path, "utf8")));
}

/** All conditions of a folder, in the order of their file names. */
export function readConditions(dir = CONDITIONS_DIR): Condition[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".yaml"))
    .toSorted()
    .map((name) => readCondition(`${dir}/${name}`));
}

export function armsOf(conditions: readonly Condition[]): Map<string, Arm> {
  const arms = new Map<string, Arm>();
  for (const { policy } of conditions)
    for (const arm of policy.arms) {
      if (arms.has(arm.name)) throw new RangeError(`condition ${policy.condition}: arm ${arm.name} is defined twice`);
      arms.set(arm.name, { ...arm, condition: policy.condition });
    }
  return arms;
}
