/**
 * Least squares on relative error with no coefficient below zero: every subset of columns is solved and the best one that stays
 * at or above zero is kept, which is exact and cheap for the handful of columns there are. @throws RangeError without rows.
 */
export function fitNonNegative(rows: readonly (readonly number[])[], values: readonly number[]): number[] {
  const width = rows[0]?.length ?? 0;
  if (width === 0) throw new RangeError("nothing to fit");
  const weighted = rows.map((row, i) => row.map((x) => x / values[i]!));
  let best: { readonly error: number; readonly found: number[] } | null = null;
  for (let mask = 1; mask < 1 << width; mask++) {
    const columns = Array.from({ length: width }, (_, i) => i).filter((i) => (mask & (1 << i)) !== 0);
    const solved = solve(
      columns.map((i) => columns.map((j) => sum(weighted.map((row) => row[i]! * row[j]!)))),
      columns.map((i) => sum(weighted.map((row) => row[i]!))),
    );
    if (solved === null || solved.some((x) => x < 0)) continue;
    const found = Array.from({ length: width }, (_, i) => solved[columns.indexOf(i)] ?? 0);
    const error = sum(weighted.map((row) => (sum(row.map((x, i) => x * found[i]!)) - 1) ** 2));
    if (best === null || error < best.error - 1e-12) best = { error, found };
  }
  if (best === null) throw new RangeError("no coefficients at or above zero fit");
  return best.found;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** Gauss with pivots; null: singular. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] | null {
  const a = matrix.map((row, i) => [...row, right[i]!]);
  const n = a.length;
  for (let col = 0; col < n; col++) {
    let pivot = col;
    for (let row = col + 1; row < n; row++) if (Math.abs(a[row]![col]!) > Math.abs(a[pivot]![col]!)) pivot = row;
    if (Math.abs(a[pivot]![col]!) <= 1e-12 * Math.abs(matrix[col]![col]!)) return null;
    [a[col], a[pivot]] = [a[pivot]!, a[col]!];
    for (let row = 0; row < n; row++) {
      if (row === col) continue;
      const factor = a[row]![col]! / a[col]![col]!;
      for (let k = col; k <= n; k++) a[row]![k]! -= factor * a[col]![k]!;
    }
  }
  return a.map((row, i) => row[n]! / row[i]!);
}
