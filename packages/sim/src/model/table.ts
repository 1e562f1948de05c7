import type { Table } from "./profile.ts";

/** Rows looked up densely up to the table's end: a step costs one read. */
const DENSE_LIMIT = 8_192;

/** Milliseconds at integer n: linear between rows, flat below the first, proportional above the last (section 3). */
export function tableMs(table: Table, n: number, above: "proportional" | "flat" = "proportional"): number {
  const first = table[0]!;
  if (n <= first[0]) return first[1];
  for (let i = 1; i < table.length; i++) {
    const [x1, y1] = table[i]!;
    if (n > x1) continue;
    const [x0, y0] = table[i - 1]!;
    return y0 + ((y1 - y0) * (n - x0)) / (x1 - x0);
  }
  const [lastN, lastMs] = table.at(-1)!;
  return above === "proportional" ? (lastMs * n) / lastN : lastMs;
}

export function denseTable(table: Table, above: "proportional" | "flat" = "proportional"): (n: number) => number {
  const top = Math.min(DENSE_LIMIT, table.at(-1)![0]);
  const dense = Float64Array.from({ length: top + 1 }, (_, n) => tableMs(table, n, above));
  return (n) => (n <= top ? dense[n]! : tableMs(table, n, above));
}
