import { lru } from "../evict/lru.ts";
import { reuseValue } from "../evict/reuse-value.ts";
import { fcfs } from "../order/fcfs.ts";
import { lpm, lpmTask } from "../order/lpm.ts";
import { taskFcfs } from "../order/task-fcfs.ts";
import { topas } from "../order/topas.ts";
import { overflowOnly, setLeave } from "../preempt/voluntary.ts";
import { mean } from "../reserve/mean.ts";
import { full } from "../reserve/full.ts";
import { peak } from "../reserve/peak.ts";
import { DEFAULT_OPTIONS } from "./defaults.ts";
import type { Evict, Order, Policy, PolicyOptions, Preempt, Reserve } from "./policy.ts";

interface Recipe {
  readonly description: string;
  readonly source: string;
  readonly order: (options: PolicyOptions) => Order;
  readonly evict: Evict;
  readonly preempt: Preempt;
  readonly reserve: Reserve;
  readonly options: Partial<PolicyOptions>;
}

const keyed = (description: string, source: string, order: Recipe["order"], options: Partial<PolicyOptions>): Recipe => ({
  description,
  source,
  order,
  evict: lru,
  preempt: overflowOnly,
  reserve: mean,
  options,
});

const joint = (description: string, source: string, changes: Partial<Omit<Recipe, "order">>): Recipe => ({
  description,
  source,
  order: () => topas,
  evict: reuseValue,
  preempt: setLeave,
  reserve: mean,
  options: {},
  ...changes,
});

const PAPER = "TOPAS, arXiv 2608.25523, Eq. 6-14";
const RECIPES: Readonly<Record<string, Recipe>> = {
  passthrough: keyed(
    "Everything goes to the engine at once, in order; no residency commands.",
    "the engine's own scheduler",
    () => fcfs,
    {
      governs: false,
    },
  ),
  fcfs: keyed("First come, first served; the head of the line waits until it fits.", "shipped engines", () => fcfs, {}),
  "fcfs-o": keyed("First come, first served, skipping what does not fit.", "fcfs with fit over", () => fcfs, { fit: "over" }),
  lpm: keyed("Longest prefix match first, ties in queue order.", "SGLang", lpm, {}),
  "lpm-task": keyed("Longest prefix match first, ties by task arrival.", "lpm with task ties", lpmTask, {}),
  "lpm-task-o": keyed("lpm-task, skipping what does not fit.", "lpm-task with fit over", lpmTask, { fit: "over" }),
  "lpm-task-g": keyed(
    "lpm-task with bounded skipping: a reservation for the request skipped longest.",
    "lpm-task with fit guarded",
    lpmTask,
    {
      fit: "guarded",
    },
  ),
  "task-fcfs": keyed("Oldest task first.", "Parrot, as a FCFS baseline", () => taskFcfs, {}),
  "task-fcfs-o": keyed("Oldest task first, skipping what does not fit.", "task-fcfs with fit over", () => taskFcfs, {
    fit: "over",
  }),
  topas: joint("Joint choice of resident prefixes and running requests by marginal path gain.", PAPER, {}),
  "topas-nopre": joint("topas without voluntary preemption.", `${PAPER}, without preemption`, { preempt: overflowOnly }),
  "topas-guarded": joint("topas that preempts only early victims, each at most twice; peak reserve.", `${PAPER}, repaired`, {
    reserve: peak,
    options: { victimGuard: { young: 0.5, times: 2 } },
  }),
};

export interface PolicyChanges extends Partial<PolicyOptions> {
  readonly reserve?: "mean" | "full" | "peak";
}

export interface PolicyInfo {
  readonly id: string;
  readonly description: string;
  readonly source: string;
  readonly composition: { readonly order: string; readonly reserve: string; readonly evict: string; readonly preempt: string };
  readonly options: PolicyOptions;
}

/** Every registered id, in a fixed order. */
export function policyIds(): readonly string[] {
  return Object.keys(RECIPES);
}

/** null for an unknown id. Options replace the policy's own one by one. */
export function createPolicy(id: string, changes: PolicyChanges = {}): Policy | null {
  const recipe = Object.hasOwn(RECIPES, id) ? RECIPES[id] : undefined;
  if (recipe === undefined) return null;
  const { reserve, ...overrides } = changes;
  const options: PolicyOptions = { ...DEFAULT_OPTIONS, ...recipe.options, ...overrides };
  return {
    id,
    description: recipe.description,
    source: recipe.source,
    order: recipe.order(options),
    reserve: reserve === undefined ? recipe.reserve : { mean, full, peak }[reserve],
    evict: recipe.evict,
    preempt: recipe.preempt,
    options,
  };
}

export function describePolicy(policy: Policy): PolicyInfo {
  const { id, description, source, order, reserve, evict, preempt, options } = policy;
  return {
    id,
    description,
    source,
    composition: { order: order.id, reserve: reserve.id, evict: evict.id, preempt: preempt.id },
    options,
  };
}
