import { Worker } from "node:worker_threads";
import type { Cell } from "../grid/cell.ts";
import { runCell, type CellResult } from "./run-cell.ts";

export interface PoolOptions {
  /** 0: in this thread. */
  readonly workers: number;
  /** Called in the order in which cells end, not in the order of the list. */
  readonly onResult?: (index: number, result: CellResult, seconds: number) => void;
}

/** Results in the order of the cells, whatever the number of workers: a cell knows nothing of the others. */
export async function runCells(cells: readonly Cell[], { workers, onResult }: PoolOptions): Promise<CellResult[]> {
  const results: CellResult[] = Array.from({ length: cells.length });
  const keep = (index: number, result: CellResult, startedMs: number): void => {
    results[index] = result;
    onResult?.(index, result, (performance.now() - startedMs) / 1_000);
  };
  if (workers === 0) {
    for (const [index, cell] of cells.entries()) {
      const startedMs = performance.now();
      keep(index, runCell(cell), startedMs);
    }
    return results;
  }
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(workers, cells.length) }, () =>
      serve(() => (next < cells.length ? next++ : null), cells, keep),
    ),
  );
  return results;
}

function serve(
  take: () => number | null,
  cells: readonly Cell[],
  keep: (index: number, result: CellResult, startedMs: number) => void,
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
      worker.postMessage({ index, cell: cells[index] });
    };
    worker.on("error", reject);
    worker.on("message", ({ index, result }: { index: number; result: CellResult }) => {
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
