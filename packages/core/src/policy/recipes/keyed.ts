import { lru } from "../../evict/lru.ts";
import { overflowOnly } from "../../preempt/voluntary.ts";
import { mean } from "../../reserve/mean.ts";
import type { AllOptions } from "../baseline-options.ts";
import type { Recipe } from "../recipe.ts";

/** A key order with the parts of the comparison table: reserve mean, evict lru, overflow only. */
export function keyed(
  description: string,
  source: string,
  order: Recipe["order"],
  knobs: readonly (keyof AllOptions)[] = [],
  more: Partial<Recipe> = {},
): Recipe {
  return { description, source, order, reserve: mean, evict: lru, preempt: overflowOnly, options: {}, knobs, ...more };
}
