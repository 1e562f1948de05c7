import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "@topas/engines";
import type { WorkloadFactory } from "../presets/live.ts";
import { Progress } from "../run/progress.ts";
import type { CellStore } from "../run/resume.ts";
import { besideTasks } from "./beside.ts";
import { liveCellKey, type LiveCell, type LivePlan } from "./live-cell.ts";
import type { PlainTasks } from "./plain-player.ts";
import { runLiveCell, type LiveCellResult, type Recorded } from "./run-live-cell.ts";
import type { LiveWorkload } from "./types.ts";

export interface EngineChoice {
  readonly kvTokens: number;
  readonly hostTierMib: number;
}

export interface RunLiveOptions {
  readonly workloads: Readonly<Record<string, WorkloadFactory>>;
  /** A fresh engine, not started. */
  readonly openEngine: (choice: EngineChoice) => Promise<Engine>;
  /** See LiveCellOptions. */
  readonly modelDecides: boolean;
  readonly limitSeconds: number;
  readonly signal: AbortSignal;
  readonly store?: CellStore<LiveCellResult>;
  readonly write?: (text: string) => void;
  /** Called before the first cell that runs now (0), and after the last one of every seed of which one ran. */
  readonly between?: (seed: number) => Promise<void>;
  /** Called once for every cell that ran now. */
  readonly onRecorded?: (cell: LiveCell, recorded: Recorded, workload: LiveWorkload) => void;
}

/** A cell with what it gave, or why it gave nothing. */
export interface LiveOutcome {
  readonly cell: LiveCell;
  readonly result: LiveCellResult | null;
  readonly error: string | null;
}

export interface LiveRun {
  readonly outcomes: readonly LiveOutcome[];
  readonly capacities: readonly (LiveOutcome & { readonly tasksPerSecond: number })[];
}

/** Stopped by its signal: what is done is in the store. */
export class Interrupted extends Error {}

/**
 * Runs a plan, one cell after another: capacities first, then every cell at its rate. A cell that fails is an outcome with an error and
 * is not stored, so that the next run tries it again. @throws Interrupted; Error when matched cells did not see the same jobs.
 */
export async function runLive(plan: LivePlan, options: RunLiveOptions): Promise<LiveRun> {
  const { store, signal, write = () => {} } = options;
  const folder = mkdtempSync(join(tmpdir(), "topas-live-"));
  const missing = (cell: LiveCell): boolean => store?.get(liveCellKey(cell)) === undefined;

  const one = async (cell: LiveCell): Promise<LiveOutcome> => {
    const known = store?.get(liveCellKey(cell));
    if (known !== undefined) return { cell, result: known, error: null };
    const workload = await workloadOf(cell, options.workloads);
    const { result, recorded } = await runLiveCell({
      workload,
      beside: besideOf(cell, workload),
      arm: cell.arm,
      openEngine: () => options.openEngine(cell),
      journalFile: join(folder, "journal.jsonl"),
      modelDecides: options.modelDecides,
      limitSeconds: options.limitSeconds,
      signal,
    });
    options.onRecorded?.(cell, recorded, workload);
    store?.put(liveCellKey(cell), result);
    return { cell, result, error: null };
  };

  const all = async (cells: readonly LiveCell[], progress: Progress): Promise<LiveOutcome[]> => {
    const out: LiveOutcome[] = [];
    for (const cell of cells) {
      const fresh = missing(cell);
      const startedMs = performance.now();
      try {
        if (signal.aborted) throw new Error("stopped");
        out.push(await one(cell));
      } catch (error) {
        if (signal.aborted) throw new Interrupted("stopped", { cause: error });
        const message = error instanceof Error ? error.message : String(error);
        write(`\n${cell.workload} ${cell.arm.name} seed ${cell.seed}: ${message}\n`);
        out.push({ cell, result: null, error: message });
      }
      if (fresh) progress.add(cell, (performance.now() - startedMs) / 1_000);
    }
    return out;
  };

  try {
    if ([...plan.capacities, ...plan.cells].some(missing)) await options.between?.(0);
    const saturated = await all(plan.capacities, new Progress(plan.capacities.filter(missing), 1, write));
    const capacities = saturated.map((each) => ({
      ...each,
      tasksPerSecond: each.result?.tasksPerSecond ?? 0,
    }));
    const capacityOf = (cell: LiveCell): (typeof capacities)[number] =>
      capacities.find(({ cell: full }) => full === plan.capacityOf(cell))!;
    const [rated, lost] = [[] as LiveCell[], [] as LiveOutcome[]];
    for (const cell of plan.cells) {
      const { tasksPerSecond, error } = capacityOf(cell);
      if (tasksPerSecond > 0) rated.push({ ...cell, ratePerSecond: cell.row.load * tasksPerSecond });
      else lost.push({ cell, result: null, error: `its capacity run failed: ${error ?? "no job was done"}` });
    }
    const outcomes = [...lost];
    const progress = new Progress(rated.filter(missing), 1, write);
    for (const seed of new Set(rated.map((cell) => cell.seed))) {
      const mine = rated.filter((cell) => cell.seed === seed);
      const fresh = mine.some(missing);
      outcomes.push(...(await all(mine, progress)));
      if (fresh) await options.between?.(seed);
    }
    checkLive(outcomes);
    return { outcomes, capacities };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error when two cells of one setting and seed did not see the same jobs. */
export function checkLive(outcomes: readonly LiveOutcome[]): void {
  const seen = new Map<string, string>();
  for (const { cell, result } of outcomes) {
    if (result === null) continue;
    const key = JSON.stringify([cell.row, cell.kvTokens, cell.ratePerSecond, cell.seed]);
    if ((seen.get(key) ?? result.inputs) !== result.inputs)
      throw new Error(`not matched: ${cell.arm.name} saw other jobs at ${key}`);
    seen.set(key, result.inputs);
  }
}

function workloadOf({ row, seed, ratePerSecond }: LiveCell, workloads: RunLiveOptions["workloads"]): Promise<LiveWorkload> {
  const factory = workloads[row.workload];
  if (factory === undefined)
    throw new RangeError(`unknown workload ${row.workload}; known: ${Object.keys(workloads).join(", ")}`);
  return factory({ seed, jobs: row.jobs, arrival: row.arrival, ratePerSecond });
}

function besideOf({ row, seed, ratePerSecond }: LiveCell, { jobs }: LiveWorkload): PlainTasks | null {
  if (row.beside === undefined || ratePerSecond === null) return null;
  return besideTasks(
    row.beside,
    jobs.map(({ arrivalSeconds }) => arrivalSeconds),
    seed,
  );
}
