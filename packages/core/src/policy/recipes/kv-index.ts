import { value } from "../../evict/value.ts";
import { kvIndex } from "../../order/kv-index.ts";
import { regroup } from "../../preempt/regroup.ts";
import { overflowOnly } from "../../preempt/voluntary.ts";
import { peak } from "../../reserve/peak.ts";
import type { AllOptions } from "../baseline-options.ts";
import type { Recipe, Recipes } from "../recipe.ts";

const KNOBS = ["kappa", "difficulty", "decline", "declineBelow", "declineHold", "maxWaitSeconds", "holdSeconds"] as const;

function indexed(description: string, options: Partial<AllOptions>, more: Partial<Recipe> = {}): Recipe {
  return {
    description,
    source: "ours, a hypothesis",
    order: kvIndex,
    reserve: peak,
    evict: value,
    preempt: regroup,
    options: { fit: "guarded", kappa: 2, ...options },
    knobs: KNOBS,
    suffixes: false,
    fallsBack: true,
    ...more,
  };
}

/** Profiles of the KV-area index (algorithm 5.8), all under peak reserve. */
export const KV_INDEX: Recipes = {
  "kv-index-safe": indexed("Serves first what frees its remaining KV area soonest; age counts double. The default to serve.", {}),
  "kv-index-mean": indexed("The index for the mean: age counts once, task difficulty is learned.", {
    kappa: 1,
    difficulty: "posterior",
  }),
  "kv-index-nopre": indexed("kv-index-safe without voluntary swaps.", {}, { preempt: overflowOnly }),
  "kv-index-decline": indexed("kv-index-safe that lets a prefix of little own work wait.", { decline: "share", allFits: false }),
  "oracle-index": indexed(
    "The index with true areas and lengths.",
    {},
    { experimentsOnly: true, knobs: [...KNOBS, "truth"], source: "reference" },
  ),
};
