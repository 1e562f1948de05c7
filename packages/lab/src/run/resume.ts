import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { CellResult } from "./run-cell.ts";

/** Finished cells as lines of JSON, so that a run that was stopped goes on where it was. */
export interface CellStore<Result = CellResult> {
  get(key: string): Result | undefined;
  put(key: string, result: Result): void;
  readonly size: number;
}

/**
 * Cells count only for the code that made them: the first line names it, and another `code` starts the file anew. A line cut off
 * by a crash is ignored.
 */
export function openCellStore<Result = CellResult>(path: string, code: string): CellStore<Result> {
  const head = JSON.stringify({ schema: "topas.cells/1", code });
  const known = new Map<string, Result>();
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  if (lines[0] === head) for (const line of lines.slice(1)) load(known, line);
  writeFileSync(path, `${[head, ...[...known].map((entry) => JSON.stringify(entry))].join("\n")}\n`);
  return {
    get: (key) => known.get(key),
    put: (key, result) => {
      known.set(key, result);
      appendFileSync(path, `${JSON.stringify([key, result])}\n`);
    },
    get size() {
      return known.size;
    },
  };
}

function load<Result>(known: Map<string, Result>, line: string): void {
  try {
    const [key, result] = JSON.parse(line) as [string, Result];
    known.set(key, result);
  } catch {
    // The line that was being written when the run stopped.
  }
}
