export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? Number.NaN : sum / values.length;
}

/** Quantile type 7: linear between order statistics, the default of R and numpy. */
export function quantile(values: readonly number[], p: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * Math.min(1, Math.max(0, p));
  const low = Math.floor(at);
  const next = sorted[low + 1];
  return next === undefined ? sorted[low]! : sorted[low]! + (at - low) * (next - sorted[low]!);
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(mean(values.map(Math.log)));
}
