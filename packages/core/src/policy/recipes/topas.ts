import { reuseValue, reuseValueSoon } from "../../evict/reuse-value.ts";
import { topas } from "../../order/topas.ts";
import { overflowOnly, setLeave } from "../../preempt/voluntary.ts";
import { mean } from "../../reserve/mean.ts";
import { peak } from "../../reserve/peak.ts";
import type { AllOptions } from "../baseline-options.ts";
import { GUARDED_OVERTAKES } from "../defaults.ts";
import type { Recipe, Recipes } from "../recipe.ts";

const PAPER = "TOPAS, arXiv 2608.25523, Eq. 6-14";

const KNOBS: readonly (keyof AllOptions)[] = [
  "beta",
  "rho",
  "gainFloor",
  "revokeFactor",
  "victimGuard",
  "sunkWork",
  "reuseForecast",
  "maxPerDecision",
  "enumerateUpTo",
  "workConserving",
  "redo",
  "redoBill",
  "billSwapOut",
  "strictPool",
  "reuseState",
  "roundGain",
  "samples",
];

function joint(description: string, options: Partial<AllOptions> = {}, source = PAPER, more: Partial<Recipe> = {}): Recipe {
  const own = Object.keys(options) as (keyof AllOptions)[];
  return {
    description,
    source,
    order: topas,
    reserve: mean,
    evict: ({ reuseForecast }) => (reuseForecast === "soon" ? reuseValueSoon : reuseValue),
    preempt: setLeave,
    options,
    knobs: [...new Set([...KNOBS, ...own])],
    ...more,
  };
}

/** The joint search and its named variants (algorithm 3.5). */
export const TOPAS: Recipes = {
  topas: joint("Joint choice of resident prefixes and running requests by marginal path gain."),
  "topas-strict": joint("The literal reading: no floor, no fill, residents outside the set leave.", {
    strictPool: true,
    workConserving: false,
    allFits: false,
    gainFloor: 0,
    redo: "redecode",
    billSwapOut: true,
    neverStalls: false,
  }),
  "topas-no-floor": joint("topas without the gain floor; lost tokens are decoded again.", {
    gainFloor: 0,
    redo: "redecode",
    neverStalls: false,
  }),
  "topas-base": joint("topas without reuse value and without aging.", { beta: 0, rho: 0 }),
  "topas-no-reuse": joint("topas without reuse value.", { beta: 0 }),
  "topas-no-age": joint("topas without aging.", { rho: 0 }),
  "topas-no-move": joint("topas that does not bill movement.", { billMove: false }),
  "topas-inside": joint("topas with the longest path of mean residuals.", { expectation: "inside" }),
  "topas-sym-age": joint("topas whose five terms all age.", { ageTerms: "all" }),
  "topas-one-set": joint("topas without a search over prefix sets, so without voluntary preemption.", { sets: "one" }, PAPER, {
    preempt: overflowOnly,
  }),
  "topas-share": joint("topas with value as share of the remaining path.", { value: "pathShare" }),
  "topas-area": joint("topas with value as share of the remaining KV area.", { value: "areaShare" }),
  "topas-corr": joint("topas with residuals correlated by task difficulty.", { difficulty: "correlated" }),
  "topas-guarded": joint(
    "topas that preempts only early victims, each at most twice, forgets no work done and bounds overtaking; peak reserve.",
    {
      victimGuard: { young: 0.5, times: 2 },
      sunkWork: "kept",
      reuseForecast: "soon",
      maxOvertakes: GUARDED_OVERTAKES,
    },
    `${PAPER}, repaired`,
    { reserve: peak },
  ),
  "topas-nopre": joint("topas without voluntary preemption.", {}, `${PAPER}, without preemption`, { preempt: overflowOnly }),
  "topas-norm": joint("topas with each kind of term divided by its own running scale.", { normalise: true }),
};
