import { findPreset } from "@topas/sim";
import type { Arm } from "../conditions.ts";
import { cellKey, type Cell, type Variant } from "./cell.ts";

/** One table of a preset: everything is crossed with everything. */
export interface Grid {
  readonly table: string;
  readonly workloads: readonly string[];
  readonly variants?: readonly Variant[];
  readonly arrivals?: readonly string[];
  /** Shares of the measured capacity, or the workload's own rate (its load is then measured). */
  readonly loads: readonly (number | "preset")[];
  readonly budgets?: readonly number[];
  readonly hostTiers?: readonly Cell["hostTier"][];
  readonly reserves?: readonly Cell["reserve"][];
  readonly profiles?: readonly string[];
  /** Names of arms, or an arm with other options. */
  readonly arms: readonly (string | ArmChange)[];
  readonly tasks: number;
  readonly warmupTasks: number;
}

export interface ArmChange {
  readonly name: string;
  readonly base: string;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly reserve?: NonNullable<Arm["reserve"]>;
  readonly fit?: NonNullable<Arm["fit"]>;
}

export const AS_PRESET: Variant = { label: "", maxTokens: "preset" };
export const DEFAULT_PROFILE = "qwen2.5-32b-a100";

/** A cell whose rate still hangs on a capacity that has to be measured first. */
export interface Planned {
  readonly table: string;
  /** Other tables that ask for it; it runs once. */
  readonly also: readonly string[];
  readonly cell: Cell;
  /** Index into the capacity plan. */
  readonly capacity: number;
  readonly load: number | "preset";
}

export interface Plan {
  readonly capacities: readonly CapacityPlan[];
  readonly cells: readonly Planned[];
}

export interface CapacityPlan {
  readonly label: string;
  readonly cells: readonly Cell[];
}

/** Saturated throughput is that of the best of these (workloads 1.3). */
export const CAPACITY_ARMS = ["task-fcfs-o", "lpm-o", "srpt-w-o"];

export function planGrids(
  grids: readonly Grid[],
  arms: ReadonlyMap<string, Arm>,
  seeds: readonly number[],
  capacityTasks: number,
): Plan {
  const capacities: CapacityPlan[] = [];
  const indexOf = new Map<string, number>();
  const cells: Planned[] = [];
  const known = new Map<string, string[]>();
  for (const grid of grids)
    for (const base of settings(grid)) {
      const all = {
        ...base,
        load: null,
        ratePerSecond: null,
        arrival: "together",
        reserve: "own",
        tasks: capacityTasks,
      } as const;
      const saturated = CAPACITY_ARMS.map((name): Cell => ({ ...all, warmupTasks: 0, arm: armOf(name, arms), seed: 1 }));
      const key = cellKey(saturated[0]!);
      if (!indexOf.has(key)) {
        indexOf.set(key, capacities.length);
        capacities.push({ label: labelOf(base), cells: saturated });
      }
      for (const load of grid.loads)
        for (const seed of seeds)
          for (const arm of grid.arms) {
            const made = armOf(arm, arms);
            if (base.reserve !== "own" && made.rules !== "joint") continue;
            const cell: Cell = { ...base, load: typeof load === "number" ? load : -1, ratePerSecond: null, arm: made, seed };
            const id = cellKey(cell);
            const before = known.get(id);
            if (before !== undefined) {
              before.push(grid.table);
              continue;
            }
            const also: string[] = [];
            known.set(id, also);
            cells.push({ table: grid.table, also, cell, capacity: indexOf.get(key)!, load });
          }
    }
  return { capacities, cells };
}

/** The cell with its load and rate, once the capacity is known. */
export function atCapacity({ cell, load }: Planned, capacityPerSecond: number): Cell {
  if (load !== "preset") return { ...cell, load, ratePerSecond: load * capacityPerSecond };
  const rate = findPreset(cell.workload).ratePerSecond;
  if (rate === undefined) throw new RangeError(`workload ${cell.workload} has no rate of its own`);
  return { ...cell, load: Math.round((1_000 * rate) / capacityPerSecond) / 1_000, ratePerSecond: rate };
}

function* settings(grid: Grid): Generator<Omit<Cell, "arm" | "seed" | "load" | "ratePerSecond">> {
  for (const workload of grid.workloads)
    for (const variant of grid.variants ?? [AS_PRESET])
      for (const arrival of grid.arrivals ?? ["poisson"])
        for (const profile of grid.profiles ?? [DEFAULT_PROFILE])
          for (const budgetTokens of grid.budgets ?? [findPreset(workload).budgetTokens])
            for (const hostTier of grid.hostTiers ?? (["pcie"] as const))
              for (const reserve of grid.reserves ?? (["own"] as const))
                yield {
                  workload,
                  variant,
                  arrival,
                  profile,
                  budgetTokens,
                  hostTier,
                  reserve,
                  tasks: grid.tasks,
                  warmupTasks: grid.warmupTasks,
                };
}

function armOf(named: string | ArmChange, arms: ReadonlyMap<string, Arm>): Arm {
  const base = arms.get(typeof named === "string" ? named : named.base);
  if (base === undefined) throw new RangeError(`unknown arm ${JSON.stringify(named)}; known: ${[...arms.keys()].join(", ")}`);
  if (typeof named === "string") return base;
  const options = { ...base.options, ...named.options } as NonNullable<Arm["options"]>;
  const { name, reserve = base.reserve, fit = base.fit } = named;
  return { ...base, name, options, ...(reserve === undefined ? {} : { reserve }), ...(fit === undefined ? {} : { fit }) };
}

function labelOf(cell: Omit<Cell, "arm" | "seed" | "load" | "ratePerSecond">): string {
  const { workload, variant, profile, budgetTokens, hostTier } = cell;
  return [workload, variant.label, profile === DEFAULT_PROFILE ? "" : profile, `B ${budgetTokens}`, `host ${hostTier}`]
    .filter((part) => part !== "")
    .join(", ");
}
