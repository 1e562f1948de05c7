import type { SimAgent, SimTask } from "../task.ts";

const marker: unique symbol = Symbol.for("topas.ImportError");

/** A row that does not say what its format promises: which line, which field, what was expected. */
export class ImportError extends Error {
  readonly code = "import_bad_row";
  readonly format: string;
  /** From 1. */
  readonly line: number;
  readonly field: string;

  constructor(format: string, line: number, field: string, expected: string) {
    super(`${format} line ${line}: ${field} ${expected}`);
    this.name = "ImportError";
    this.format = format;
    this.line = line;
    this.field = field;
    Object.defineProperty(this, marker, { value: true });
  }

  static isInstance(error: unknown): error is ImportError {
    return typeof error === "object" && error !== null && marker in error;
  }
}

export interface ImportOptions {
  /** Count bad rows instead of failing at the first. */
  readonly skipBadRows?: boolean;
}

export interface Imported {
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
  readonly rows: number;
  readonly skippedRows: number;
  /** First few bad rows, when they were skipped. */
  readonly problems: readonly string[];
  /** What the format or the import could not express, in words. */
  readonly notes: readonly string[];
}

export interface Rows<T> {
  readonly rows: readonly T[];
  readonly skippedRows: number;
  readonly problems: readonly string[];
}

/** Reads one row a line; blank lines do not count. @throws ImportError at the first bad row unless `skipBadRows`. */
export function readRows<T>(
  lines: Iterable<string>,
  parse: (line: string, number: number) => T | null,
  options: ImportOptions,
): Rows<T> {
  const rows: T[] = [];
  const problems: string[] = [];
  let skippedRows = 0;
  let number = 0;
  for (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    try {
      const row = parse(line, number);
      if (row !== null) rows.push(row);
    } catch (error) {
      if (options.skipBadRows !== true || !ImportError.isInstance(error)) throw error;
      skippedRows += 1;
      if (problems.length < 5) problems.push(error.message);
    }
  }
  return { rows, skippedRows, problems };
}

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}
