import type { View } from "../view.ts";
import type { AllOptions } from "./baseline-options.ts";
import type { Evict, Order, Policy, Preempt, Reserve } from "./policy.ts";

/** A part, or how to make it from the options. */
export type Part<T> = T | ((options: AllOptions) => T);

/** How a policy is put together; the registry turns it into a `Policy`. */
export interface Recipe {
  readonly description: string;
  /** Where the rule comes from. */
  readonly source: string;
  readonly order: Part<Order>;
  readonly reserve: Part<Reserve>;
  readonly evict: Part<Evict>;
  readonly preempt: Part<Preempt>;
  readonly options: Partial<AllOptions>;
  /** Options that this policy reads beside `fit`; what `topas policies` prints. */
  readonly knobs: readonly (keyof AllOptions)[];
  /** False: `-o` and `-g` make no sense. Only key orders take a suffix at all. */
  readonly suffixes?: false;
  /** Needs the truth, so no gateway may run it. */
  readonly experimentsOnly?: true;
  /** Takes the fallback arm when asked to, as every search does (index policies). */
  readonly fallsBack?: true;
  /** Makes the rule by which another policy decides a view. `make` builds other policies of the registry. */
  readonly delegate?: (options: AllOptions, make: MakePolicy) => (view: View) => Policy | null;
}

export type MakePolicy = (id: string, changes?: Partial<AllOptions>) => Policy;

export type Recipes = Readonly<Record<string, Recipe>>;

export function part<T extends object>(made: Part<T>, options: AllOptions): T {
  return typeof made === "function" ? (made as (options: AllOptions) => T)(options) : made;
}
