import { atCapacity, type Plan } from "../grid/grid.ts";
import { cellKey, settingKey, type Cell } from "../grid/cell.ts";
import type { Run } from "../results/schema.ts";
import { runCells } from "./pool.ts";
import { Progress } from "./progress.ts";
import type { CellStore } from "./resume.ts";
import type { CellResult } from "./run-cell.ts";
import { isUnstable, type Trend } from "./stability.ts";

export interface MatchedOptions {
  readonly workers: number;
  readonly store?: CellStore;
  readonly write?: (text: string) => void;
}

export interface Matched {
  readonly runs: readonly (Run & { readonly table: string; readonly also: readonly string[] })[];
  readonly capacities: readonly { readonly setting: string; readonly tasksPerSecond: number; readonly by: string }[];
}

/** Runs a plan: capacities first, then every cell at its rate; then checks that matched rows saw the identical workload. */
export async function runMatched(plan: Plan, options: MatchedOptions): Promise<Matched> {
  const saturated = plan.capacities.flatMap(({ cells }) => cells);
  const found = await run(saturated, options);
  let at = 0;
  const capacities = plan.capacities.map(({ label, cells }) => {
    const all = cells.map((cell) => ({ by: cell.arm.name, tasksPerSecond: found[at++]!.tasksPerSecond }));
    const best = all.reduce((a, b) => (b.tasksPerSecond > a.tasksPerSecond ? b : a));
    return { setting: label, ...best };
  });
  const cells = plan.cells.map((planned) => atCapacity(planned, capacities[planned.capacity]!.tasksPerSecond));
  const results = await run(cells, options);
  checkMatched(cells, results);
  const rows = new Map<string, Trend[]>();
  const rowKey = (cell: Cell): string => `${settingKey(cell)} ${cell.arm.name}`;
  cells.forEach((cell, i) => rows.set(rowKey(cell), [...(rows.get(rowKey(cell)) ?? []), results[i]!.trend]));
  const runs = cells.map((cell, i) => {
    const unstable = isUnstable(rows.get(rowKey(cell))!);
    return { ...rowOf(cell, results[i]!, unstable), table: plan.cells[i]!.table, also: plan.cells[i]!.also };
  });
  return { runs, capacities };
}

/** @throws Error when two rows of one setting and seed did not see the same tasks. */
export function checkMatched(cells: readonly Cell[], results: readonly { readonly inputs: string }[]): void {
  const seen = new Map<string, string>();
  cells.forEach((cell, i) => {
    const key = `${settingKey(cell)} ${cell.seed}`;
    const { inputs } = results[i]!;
    if ((seen.get(key) ?? inputs) !== inputs) throw new Error(`not matched: ${cell.arm.name} saw other tasks at ${key}`);
    seen.set(key, inputs);
  });
}

async function run(cells: readonly Cell[], { workers, store, write }: MatchedOptions): Promise<CellResult[]> {
  const keys = cells.map(cellKey);
  const missing = cells.filter((_, i) => store?.get(keys[i]!) === undefined);
  const progress = new Progress(missing, workers, write ?? (() => {}));
  const fresh = await runCells(missing, {
    workers,
    onResult: (index, result, seconds) => {
      store?.put(cellKey(missing[index]!), result);
      progress.add(missing[index]!, seconds);
    },
  });
  let next = 0;
  return cells.map((cell, i) => (missing[next] === cell ? fresh[next++]! : store!.get(keys[i]!)!));
}

function rowOf(cell: Cell, result: CellResult, unstable: boolean): Run {
  const { arm, variant, reserve } = cell;
  return {
    workload: cell.workload,
    arrival: cell.arrival,
    load: cell.load,
    budgetTokens: cell.budgetTokens,
    hostTier: cell.hostTier,
    policy: arm.name,
    options: {
      setting: settingLabel(cell),
      ratePerSecond: cell.ratePerSecond,
      profile: cell.profile,
      tasks: cell.tasks,
      warmupTasks: cell.warmupTasks,
      rules: arm.rules,
      fit: arm.fit ?? null,
      reserve: reserve === "own" ? (arm.reserve ?? null) : reserve,
      maxTokens: variant.maxTokens,
      ...arm.options,
    },
    condition: arm.condition,
    seed: cell.seed,
    metrics: result.metrics,
    inputs: result.inputs,
    unstable,
    error: result.error,
  };
}

/** What of a setting is not a column of its own. */
function settingLabel({ variant, reserve, profile, tasks }: Cell): string {
  const parts = [
    variant.label,
    reserve === "own" ? "each its own reserve" : `every row reserve ${reserve}`,
    `${tasks} tasks`,
    profile,
  ];
  return parts.filter((part) => part !== "").join(", ");
}
