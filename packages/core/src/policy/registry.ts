import { INDEX_DEFAULTS } from "../kv-index/settings.ts";
import { current } from "../reserve/current.ts";
import { engine } from "../reserve/engine.ts";
import { full } from "../reserve/full.ts";
import { mean } from "../reserve/mean.ts";
import { peak } from "../reserve/peak.ts";
import { program } from "../reserve/program.ts";
import type { View } from "../view.ts";
import { BASELINE_DEFAULTS, type AllOptions } from "./baseline-options.ts";
import { DEFAULT_OPTIONS, GUARDED_OVERTAKES } from "./defaults.ts";
import { fallbackId, fallbackReason } from "./fallback.ts";
import type { Policy, PolicyOptions, Reserve } from "./policy.ts";
import { part, type MakePolicy, type Recipe, type Recipes } from "./recipe.ts";
import { CONTROL } from "./recipes/control.ts";
import { KV_INDEX } from "./recipes/kv-index.ts";
import { ORACLES } from "./recipes/oracles.ts";
import { RESIDENCY } from "./recipes/residency.ts";
import { SHIPPED } from "./recipes/shipped.ts";
import { TASKS } from "./recipes/tasks.ts";
import { TOPAS } from "./recipes/topas.ts";

const RECIPES: Recipes = { ...SHIPPED, ...TASKS, ...RESIDENCY, ...CONTROL, ...TOPAS, ...ORACLES, ...KV_INDEX };

/** Short names. */
const ALIASES: Readonly<Record<string, string>> = { "kv-index": "kv-index-safe" };

const FITS = { o: "over", g: "guarded" } as const;

const RESERVES = { engine, mean, peak, current, full, program } as const;

export interface PolicyChanges extends Partial<AllOptions> {
  readonly reserve?: keyof typeof RESERVES;
}

export interface PolicyInfo {
  readonly id: string;
  readonly description: string;
  readonly source: string;
  readonly composition: { readonly order: string; readonly reserve: string; readonly evict: string; readonly preempt: string };
  readonly options: PolicyOptions;
  /** Names of the options this policy reads, `fit` first. */
  readonly knobs: readonly string[];
  /** True: needs to know the future; a gateway refuses it. */
  readonly experimentsOnly: boolean;
}

/** Every registered id, in a fixed order; with `variants` also every suffixed one: `-o` skip over, `-g` guarded. */
export function policyIds(which: { readonly variants?: boolean } = {}): readonly string[] {
  const ids = Object.keys(RECIPES);
  if (which.variants !== true) return ids;
  return [...ids, ...ids.filter((id) => takesSuffix(RECIPES[id]!)).flatMap((id) => [`${id}-o`, `${id}-g`])];
}

function takesSuffix(recipe: Recipe): boolean {
  return recipe.suffixes !== false && part(recipe.order, DEFAULTS).kind === "keys" && recipe.options.fit !== "guarded";
}

const DEFAULTS: AllOptions = { ...DEFAULT_OPTIONS, ...BASELINE_DEFAULTS, ...INDEX_DEFAULTS };

/** The recipe an id names, and the fit its suffix asks for. */
function find(id: string): { recipe: Recipe; fit: PolicyOptions["fit"] | null } | null {
  const known = (name: string): Recipe | undefined => (Object.hasOwn(RECIPES, name) ? RECIPES[name] : undefined);
  const whole = known(ALIASES[id] ?? id);
  if (whole !== undefined) return { recipe: whole, fit: null };
  const suffix = /^(.+)-([og])$/.exec(id);
  const recipe = suffix === null ? undefined : known(suffix[1]!);
  if (recipe === undefined || !takesSuffix(recipe)) return null;
  return { recipe, fit: FITS[suffix![2] as "o" | "g"] };
}

/** null for an unknown id. Options replace the policy's own one by one. */
export function createPolicy(id: string, changes: PolicyChanges = {}): Policy | null {
  const found = find(id);
  if (found === null) return null;
  const { recipe, fit } = found;
  const { reserve: named, ...overrides } = changes;
  const fitted = fit === null ? {} : { fit, maxOvertakes: fit === "guarded" ? GUARDED_OVERTAKES : null };
  const merged: AllOptions = { ...DEFAULTS, ...recipe.options, ...fitted, ...overrides };
  // Reserving no growth with a head-of-line order would retract and admit again for ever (algorithm 1.6).
  const options: AllOptions = named === "current" && merged.fit === "stop" ? { ...merged, fit: "over" } : merged;
  const reserve: Reserve = named === undefined ? part(recipe.reserve, options) : RESERVES[named];
  const delegate = delegateOf(recipe, options, named);
  return {
    id: ALIASES[id] ?? id,
    description: recipe.description,
    source: recipe.source,
    order: part(recipe.order, options),
    reserve,
    evict: part(recipe.evict, options),
    preempt: part(recipe.preempt, options),
    options,
    ...(delegate === null ? {} : { delegate }),
  };
}

/** The fallback arm first, then the recipe's own rule; each arm keeps the reserve of the policy it stands in for. */
function delegateOf(
  recipe: Recipe,
  options: AllOptions,
  reserve: PolicyChanges["reserve"],
): ((view: View) => Policy | null) | null {
  const make: MakePolicy = (id, changes = {}) => {
    const policy = createPolicy(id, { ...(reserve === undefined ? {} : { reserve }), ...changes })!;
    return reserve === undefined ? { ...policy, reserve: part(recipe.reserve, options) } : policy;
  };
  const own = recipe.delegate?.(options, make) ?? null;
  const search = part(recipe.order, options).kind === "search";
  if (options.fallback === "off" || !(search || recipe.fallsBack === true)) return own;
  const arm = make(fallbackId(options));
  return (view) => (fallbackReason(view, options) === null ? (own?.(view) ?? null) : arm);
}

export function describePolicy(policy: Policy): PolicyInfo {
  const { id, description, source, order, reserve, evict, preempt, options } = policy;
  const recipe = find(id)?.recipe;
  return {
    id,
    description,
    source,
    composition: { order: order.id, reserve: reserve.id, evict: evict.id, preempt: preempt.id },
    options,
    knobs: ["fit", "maxOvertakes", ...(recipe?.knobs ?? [])],
    experimentsOnly: recipe?.experimentsOnly === true,
  };
}
