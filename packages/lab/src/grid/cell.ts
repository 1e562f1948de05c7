import { createHash } from "node:crypto";
import type { Arm } from "../conditions.ts";
import type { Estimates } from "./estimates.ts";

/** What the workload of a cell is, beside its name. Keys in a fixed order, so that equal cells have equal keys. */
export interface Variant {
  /** Shown in tables; empty: as the preset has it. */
  readonly label: string;
  readonly maxTokens: "preset" | "exact" | "tight" | "typical" | "loose" | "unset" | number;
  readonly prefixScale?: number;
  readonly outputCv?: number;
  readonly difficultySigma?: number;
  readonly volatileSpan?: "none" | "seconds" | "minutes" | "tail";
  readonly tenants?: number;
  /** What the policy is told about a task, right or wrong. */
  readonly estimates?: Estimates;
  /** none: every task is a tenant of its own, so nothing that others taught corrects what it was told. */
  readonly history?: "none";
}

/** One workload in one setting under one scheduler with one seed. Plain data: it travels to a worker as it is. */
export interface Cell {
  readonly workload: string;
  readonly variant: Variant;
  readonly arrival: string;
  /** Share of the measured capacity; null: all tasks at once (the capacity run itself). */
  readonly load: number | null;
  readonly ratePerSecond: number | null;
  readonly profile: string;
  readonly budgetTokens: number;
  readonly hostTier: "none" | "pcie" | "slow";
  /** own: as the arm has it; otherwise the same reserve for every row. */
  readonly reserve: "own" | "mean" | "peak" | "engine";
  readonly arm: Arm;
  readonly seed: number;
  readonly tasks: number;
  readonly warmupTasks: number;
}

export function cellKey(cell: Cell): string {
  return createHash("sha256").update(JSON.stringify(cell)).digest("hex").slice(0, 24);
}

/** Cells that differ in the scheduler alone share this; comparisons never cross it. */
export function settingKey(cell: Omit<Cell, "arm" | "seed">): string {
  const { workload, variant, arrival, load, ratePerSecond, profile, budgetTokens, hostTier, reserve, tasks, warmupTasks } = cell;
  return JSON.stringify([
    workload,
    variant,
    arrival,
    load,
    ratePerSecond,
    profile,
    budgetTokens,
    hostTier,
    reserve,
    tasks,
    warmupTasks,
  ]);
}
