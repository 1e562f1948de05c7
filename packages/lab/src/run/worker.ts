import { parentPort } from "node:worker_threads";
import type { Cell } from "../grid/cell.ts";
import { runCell } from "./run-cell.ts";

/** A thread of the pool: a cell in, its result out. */
parentPort?.on("message", ({ index, cell }: { readonly index: number; readonly cell: Cell }) => {
  parentPort!.postMessage({ index, result: runCell(cell) });
});
