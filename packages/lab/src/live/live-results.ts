import type { Results, Run } from "../results/schema.ts";
import { NO_METRICS } from "../results/metrics.ts";
import type { Cost } from "../run/overhead.ts";
import { isUnstable, type Trend } from "../run/stability.ts";
import { mean } from "../stats/describe.ts";
import type { LiveCell } from "./live-cell.ts";
import type { LiveOutcome } from "./run-live.ts";
import type { JobClass } from "./types.ts";

export type TabledRun = Run & { readonly table: string };

/** A row a cell for its workflows, and one for each class beside them. A cell that failed is one row with its error. */
export function rowsOfLive(outcomes: readonly LiveOutcome[]): TabledRun[] {
  const trends = new Map<string, Trend[]>();
  for (const { cell, result } of outcomes)
    if (result !== null) trends.set(rowKey(cell), [...(trends.get(rowKey(cell)) ?? []), result.trend]);
  return outcomes.flatMap(({ cell, result, error }) => {
    if (result === null) return [rowOf(cell, "workflow", { metrics: NO_METRICS, inputs: "", unstable: false, error })];
    const unstable = isUnstable(trends.get(rowKey(cell))!);
    const failed = result.failures.length === 0 ? null : result.failures.join("; ");
    return result.rows.map(({ class: of, metrics }) =>
      rowOf(cell, of, {
        metrics,
        inputs: result.inputs,
        unstable: of === "workflow" && unstable,
        error: of === "workflow" ? failed : null,
      }),
    );
  });
}

/** Decisions as each policy made them, means over its cells, and above all the dearest joint policy. */
export function overheadOfLive(outcomes: readonly LiveOutcome[]): Results["overhead"] {
  const costs = new Map<string, Cost[]>();
  const joint = new Set<string>();
  for (const { cell, result } of outcomes) {
    if (result === null) continue;
    const { name, condition } = cell.arm;
    if (condition === "D") joint.add(name);
    costs.set(name, [...(costs.get(name) ?? []), result.decisions]);
  }
  const policies = Object.fromEntries([...costs].map(([name, all]) => [name, meanCost(all)]));
  const [dearest] = [...joint].map((name) => policies[name]!).toSorted((a, b) => b.wallShare - a.wallShare);
  const shares = [...joint].flatMap((name) => costs.get(name)!.map(({ wallShare }) => wallShare));
  const worst = `${(100 * Math.max(0, ...shares)).toFixed(2)} % in the dearest cell of a joint policy`;
  const note = `the gateway's own clock, means over the cells of each policy: decisions are the policy alone, the share of wall time is everything the loop does to schedule (${worst}); the top row is the dearest joint policy`;
  return { ...(dearest ?? { decisionP50Us: 0, decisionP95Us: 0, wallShare: 0 }), policies, note };
}

function meanCost(costs: readonly Cost[]): Cost {
  return {
    decisionP50Us: mean(costs.map((cost) => cost.decisionP50Us)),
    decisionP95Us: mean(costs.map((cost) => cost.decisionP95Us)),
    wallShare: mean(costs.map((cost) => cost.wallShare)),
  };
}

const NAMES: Readonly<Record<JobClass, (workload: string) => string>> = {
  workflow: (workload) => workload,
  chat: (workload) => `chat beside ${workload}`,
  background: (workload) => `background beside ${workload}`,
};

function rowKey(cell: LiveCell): string {
  return JSON.stringify([cell.row, cell.kvTokens, cell.arm.name]);
}

/** One class of one cell. */
export function rowOf(cell: LiveCell, of: JobClass, made: Pick<Run, "metrics" | "inputs" | "unstable" | "error">): TabledRun {
  const { row, arm, seed, kvTokens, hostTierMib, model, ratePerSecond } = cell;
  const others =
    row.beside === undefined ? "" : `, ${row.beside.chats} chats and ${row.beside.backgrounds} background calls beside`;
  return {
    workload: NAMES[of](cell.workload),
    arrival: row.arrival,
    load: row.load,
    budgetTokens: kvTokens,
    hostTier: hostTierMib === 0 ? "none" : `${hostTierMib} MiB`,
    policy: arm.name,
    options: {
      setting: `${model}, ${row.jobs} jobs${others}`,
      ratePerSecond,
      rules: "llama",
      fit: arm.fit ?? null,
      reserve: arm.reserve ?? null,
      maxTokens: "the workflow's own",
      ...arm.options,
    },
    condition: arm.condition,
    seed,
    ...made,
    table: row.table,
  };
}
