/** A thread that holds one Ruflo engine and runs one workflow at a time in a folder of its own. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { RufloJob } from "./jobs.ts";
import { openV2 } from "./run-v2.ts";
import { openV3 } from "./run-v3.ts";

export interface WorkerData {
  readonly kind: RufloJob["kind"];
  readonly packages: string;
  /** Folders of the runs go here. */
  readonly scratch: string;
}

export interface WorkerOrder {
  readonly job: RufloJob;
  readonly url: string;
}

/** What the engine itself said. */
export interface WorkerReport {
  readonly status: string;
  readonly error: string | null;
}

export type Runner = (order: WorkerOrder) => Promise<WorkerReport>;

const { kind, packages, scratch } = workerData as WorkerData;
const port = parentPort!;
// As `node --import` would: before the engine is loaded.
if (kind === "v3") await import("@topas/receipt/ruflo/preload");
const run = await (kind === "v3" ? openV3(packages) : openV2(packages));

port.on("message", (order: WorkerOrder) => {
  mkdirSync(scratch, { recursive: true });
  const folder = mkdtempSync(join(scratch, "run-"));
  process.env["CLAUDE_FLOW_CWD"] = folder;
  // Some of what the engine learns it keeps beside the process, and a thread cannot change its directory.
  process.cwd = () => folder;
  run(order)
    .catch((error: unknown): WorkerReport => ({
      status: "failed",
      error: error instanceof Error ? error.message : String(error),
    }))
    .then((report) => {
      rmSync(folder, { recursive: true, force: true });
      port.postMessage(report);
    }, console.error);
});
port.postMessage("ready");
