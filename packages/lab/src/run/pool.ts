import { Worker } from "node:worker_threads";
import type { Cell } from "../grid/cell.ts";
import { doJob, type Job, type JobResult } from "./jobs.ts";
import type { CellResult } from "./run-cell.ts";

export interface PoolOptions<R = CellResult> {
  /** 0: in this thread. */
  readonly workers: number;
  /** Called in the order in which cells end, not in the order of the list. */
  readonly onResult?: (index: number, result: R, seconds: number) => void;
}

/** Results in the order of the cells, whatever the number of workers: a cell knows nothing of the others. */
export function runCells(cells: readonly Cell[], options: PoolOptions): Promise<CellResult[]> {
  return runJobs<Extract<Job, { kind: "cell" }>>(
    cells.map((cell) => ({ kind: "cell", cell })),
    options,
  );
}

export async function runJobs<J extends Job>(
  jobs: readonly J[],
  { workers, onResult }: PoolOptions<JobResult<J>>,
): Promise<JobResult<J>[]> {
  const results: JobResult<J>[] = Array.from({ length: jobs.length });
  const keep = (index: number, result: JobResult<J>, startedMs: number): void => {
    results[index] = result;
    onResult?.(index, result, (performance.now() - startedMs) / 1_000);
  };
  if (workers === 0) {
    for (const [index, job] of jobs.entries()) {
      const startedMs = performance.now();
      keep(index, doJob(job) as JobResult<J>, startedMs);
    }
    return results;
  }
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(workers, jobs.length) }, () => serve(() => (next < jobs.length ? next++ : null), jobs, keep)),
  );
  return results;
}

function serve<J extends Job>(
  take: () => number | null,
  jobs: readonly J[],
  keep: (index: number, result: JobResult<J>, startedMs: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = startWorker();
    let startedMs = 0;
    const send = (): void => {
      const index = take();
      if (index === null) {
        void worker.terminate().then(() => resolve());
        return;
      }
      startedMs = performance.now();
      worker.postMessage({ index, job: jobs[index] });
    };
    worker.on("error", reject);
    worker.on("message", ({ index, result }: { index: number; result: JobResult<J> }) => {
      keep(index, result, startedMs);
      send();
    });
    send();
  });
}

function startWorker(): Worker {
  const source = import.meta.url.endsWith(".ts");
  return new Worker(new URL(source ? "./worker-from-source.mjs" : "./worker.js", import.meta.url), { execArgv: [] });
}
