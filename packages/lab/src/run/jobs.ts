import type { Tried } from "@topas/sim";
import type { Cell } from "../grid/cell.ts";
import { calibrate, type Calibrated, type CalibrationJob } from "./calibration.ts";
import { runCell, type CellResult } from "./run-cell.ts";
import { doSearch, type SearchJob } from "./search.ts";

/** What a thread of the pool can do. Plain data, so that it travels; the result hangs on the job alone. */
export type Job = { readonly kind: "cell"; readonly cell: Cell } | SearchJob | CalibrationJob;
export type JobResult<J extends Job> = J extends SearchJob
  ? readonly Tried[]
  : J extends CalibrationJob
    ? readonly Calibrated[]
    : CellResult;

export function doJob(job: Job): JobResult<Job> {
  switch (job.kind) {
    case "cell":
      return runCell(job.cell);
    case "search":
      return doSearch(job);
    case "calibration":
      return calibrate(job);
  }
}
