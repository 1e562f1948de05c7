/** Holm's step-down adjustment of p values for a family of comparisons; order kept. */
export function holm(ps: readonly number[]): number[] {
  const order = ps.map((p, i) => [p, i] as const).toSorted((a, b) => a[0] - b[0]);
  const out = ps.map(() => 1);
  let most = 0;
  for (const [rank, [p, i]] of order.entries()) {
    most = Math.max(most, Math.min(1, (ps.length - rank) * p));
    out[i] = most;
  }
  return out;
}
