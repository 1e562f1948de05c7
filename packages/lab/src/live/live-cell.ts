import { createHash } from "node:crypto";
import type { Arm } from "../conditions.ts";
import type { LiveExperiment, LiveRow } from "../presets/live.ts";

/** One setting under one scheduler with one seed. */
export interface LiveCell {
  readonly row: LiveRow;
  readonly workload: string;
  readonly arm: Arm;
  readonly seed: number;
  readonly kvTokens: number;
  readonly hostTierMib: number;
  readonly model: string;
  /** Null: all at once, the capacity run. */
  readonly ratePerSecond: number | null;
}

export const CAPACITY_ARM = "task-fcfs-o";

export function liveCellKey(cell: LiveCell): string {
  return createHash("sha256").update(JSON.stringify(cell)).digest("hex").slice(0, 24);
}

export interface LivePlan {
  /** One of each workload and budget. */
  readonly capacities: readonly LiveCell[];
  /** Seeds outermost, then settings, then arms, each seed beginning with the next arm: a machine that drifts, drifts for all. */
  readonly cells: readonly LiveCell[];
  readonly capacityOf: (cell: LiveCell) => LiveCell;
}

/** @throws RangeError for an arm that is unknown or that no gateway runs. */
export function planLive(
  experiment: LiveExperiment,
  arms: ReadonlyMap<string, Arm>,
  seeds: readonly number[],
  model: string,
): LivePlan {
  const armOf = (name: string): Arm => {
    const arm = arms.get(name);
    if (arm === undefined) throw new RangeError(`unknown arm ${name}; known: ${[...arms.keys()].join(", ")}`);
    return arm;
  };
  const cellOf = (row: LiveRow, arm: Arm, seed: number): LiveCell => ({
    row,
    workload: row.workload,
    arm,
    seed,
    kvTokens: row.kvTokens ?? experiment.kvTokens,
    hostTierMib: experiment.hostTierMib,
    model,
    ratePerSecond: null,
  });
  const saturated = (row: LiveRow): LiveCell => {
    const { table, workload, kvTokens } = row;
    const all = { table, workload, arrival: "burst", load: 1, jobs: experiment.capacityJobs } as const;
    return cellOf({ ...all, ...(kvTokens === undefined ? {} : { kvTokens }) }, armOf(CAPACITY_ARM), seeds[0]!);
  };
  const capacities = new Map<string, LiveCell>();
  const nameOf = ({ workload, kvTokens }: LiveRow): string => JSON.stringify([workload, kvTokens]);
  for (const row of experiment.rows) if (!capacities.has(nameOf(row))) capacities.set(nameOf(row), saturated(row));
  const cells = seeds.flatMap((seed, turn) =>
    experiment.rows.flatMap((row) => rotated(row.arms ?? experiment.arms, turn).map((name) => cellOf(row, armOf(name), seed))),
  );
  return { capacities: [...capacities.values()], cells, capacityOf: ({ row }) => capacities.get(nameOf(row))! };
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const at = by % Math.max(1, list.length);
  return [...list.slice(at), ...list.slice(0, at)];
}
