import { createHash } from "node:crypto";
import { makeWorkload, type ArrivalName, type Workload } from "@topas/sim";
import type { Cell } from "../grid/cell.ts";
import { withEstimates, withoutHistory } from "../grid/estimates.ts";

export interface CellWorkload {
  readonly workload: Workload;
  /** Fingerprint of arrivals, prompts, lengths, limits and tool waits: what matched cells must share. */
  readonly inputs: string;
}

/** The task list of a cell: a function of workload, setting and seed; the scheduler has no part in it. */
export function workloadOf(cell: Omit<Cell, "arm">): CellWorkload {
  const { variant, seed, load, ratePerSecond } = cell;
  const { maxTokens, prefixScale, outputCv, difficultySigma, volatileSpan, tenants, estimates, history } = variant;
  const made = makeWorkload(cell.workload, {
    seed,
    tasks: cell.tasks + cell.warmupTasks,
    arrival: load === null ? "together" : (cell.arrival as ArrivalName),
    ...(ratePerSecond === null ? {} : { ratePerSecond }),
    options: {
      budgetTokens: cell.budgetTokens,
      ...(maxTokens === "preset" ? {} : { maxTokens }),
      ...(prefixScale === undefined ? {} : { prefixScale }),
      ...(outputCv === undefined ? {} : { outputCv }),
      ...(difficultySigma === undefined ? {} : { difficultySigma }),
      ...(volatileSpan === undefined ? {} : { volatileSpan }),
      ...(tenants === undefined ? {} : { tenants }),
      ...(estimates === undefined ? {} : { reveal: "estimates" as const }),
    },
  });
  const told = estimates === undefined ? made.tasks : withEstimates(made.tasks, estimates, seed);
  const workload = { ...made, tasks: history === "none" ? withoutHistory(told) : told };
  return { workload, inputs: fingerprint(workload) };
}

function fingerprint({ agents, tasks }: Workload): string {
  const told = tasks.map(({ id, arrivalSeconds, stages }) => [id, arrivalSeconds, stages]);
  return createHash("sha256")
    .update(JSON.stringify([agents, told]))
    .digest("hex")
    .slice(0, 16);
}
