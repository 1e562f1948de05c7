import { ImportError } from "./rows.ts";

/** Typed access to one row; every complaint names line and field. */
export class Fields {
  readonly format: string;
  readonly line: number;
  private readonly values: Readonly<Record<string, unknown>>;

  constructor(format: string, line: number, values: Readonly<Record<string, unknown>>) {
    this.format = format;
    this.line = line;
    this.values = values;
  }

  static json(format: string, line: number, text: string): Fields {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new ImportError(format, line, "row", "is not JSON");
    }
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new ImportError(format, line, "row", "is not a JSON object");
    return new Fields(format, line, value as Record<string, unknown>);
  }

  fail(field: string, expected: string): never {
    throw new ImportError(this.format, this.line, field, expected);
  }

  has(field: string): boolean {
    const value = this.values[field];
    return value !== undefined && value !== null && value !== "";
  }

  raw(field: string): unknown {
    return this.values[field];
  }

  number(field: string, least = -Infinity): number {
    const value = this.values[field];
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number !== "number" || !Number.isFinite(number))
      return this.fail(field, this.has(field) ? "is not a number" : "is missing");
    return number >= least ? number : this.fail(field, `is ${number}, must be at least ${least}`);
  }

  /** Whole number of tokens, rows or blocks. */
  count(field: string, least = 0): number {
    const value = this.number(field, least);
    return Number.isInteger(value) ? value : this.fail(field, `is ${value}, must be a whole number`);
  }

  text(field: string): string {
    const value = this.values[field];
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
    return this.fail(field, this.has(field) ? "is not a string" : "is missing");
  }

  numbers(field: string): number[] {
    const value = this.values[field];
    if (!Array.isArray(value)) return this.fail(field, this.has(field) ? "is not a list" : "is missing");
    return value.every((each) => Number.isInteger(each)) ? value : this.fail(field, "holds something that is not a whole number");
  }

  texts(field: string): string[] {
    const value = this.values[field];
    if (!Array.isArray(value)) return this.fail(field, this.has(field) ? "is not a list" : "is missing");
    return value.every((each) => typeof each === "string") ? value : this.fail(field, "holds something that is not a string");
  }

  objects(field: string): Fields[] {
    const value = this.values[field];
    if (!Array.isArray(value)) return this.fail(field, this.has(field) ? "is not a list" : "is missing");
    return value.map((each: unknown) =>
      typeof each === "object" && each !== null
        ? new Fields(this.format, this.line, each as Record<string, unknown>)
        : this.fail(field, "holds something that is not an object"),
    );
  }

  /** Read with one of the methods above where present. */
  or<K extends "count" | "number" | "text" | "texts" | "numbers", T>(
    field: string,
    reader: K,
    otherwise: T,
  ): ReturnType<Fields[K]> | T {
    return this.has(field) ? (this[reader](field) as ReturnType<Fields[K]>) : otherwise;
  }

  /** Zero or more; absent: zero. */
  amount(field: string): number {
    return this.has(field) ? this.number(field, 0) : 0;
  }
}

/** CSV without quoting, as the traces are; the first line names the columns. */
export function csvReader(format: string, required: readonly string[]): (line: string, number: number) => Fields | null {
  let columns: readonly string[] | null = null;
  return (line, number) => {
    const cells = line.replace(/^\uFEFF/, "").split(",");
    if (columns === null) {
      const names = cells.map((cell) => cell.trim());
      const missing = required.filter((name) => !names.includes(name));
      if (missing.length > 0) throw new ImportError(format, number, missing.join(", "), "is no column of the header");
      columns = names;
      return null;
    }
    if (cells.length !== columns.length)
      throw new ImportError(format, number, "row", `has ${cells.length} cells, the header ${columns.length}`);
    return new Fields(format, number, Object.fromEntries(columns.map((name, i) => [name, cells[i]])));
  };
}
