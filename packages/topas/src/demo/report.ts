/** One policy's row of the demo table; names as in the issue that asked for it. */
export interface DemoRow {
  readonly policy: string;
  readonly jctMeanS: number;
  readonly jctP99S: number;
  readonly prefixHitRate: number;
  readonly recomputedTokens: number;
  readonly movedBytes: number;
  readonly preemptions: number;
  readonly batchMean: number;
  readonly kvOccupancy: number;
  readonly requests: number;
  readonly failed: number;
}

export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const width = headers.map((h, i) => Math.max(h.length, ...rows.map((r) => (r[i] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    cells.map((c, i) => (i === 0 ? c.padEnd(width[i] ?? 0) : c.padStart(width[i] ?? 0))).join("  ");
  return [line(headers), width.map((w) => "-".repeat(w)).join("  "), ...rows.map(line)].join("\n");
}

export function demoTable(rows: readonly DemoRow[]): string {
  return table(
    [
      "policy",
      "mean task s",
      "p99 task s",
      "prefix hit",
      "recomputed tok",
      "moved MB",
      "preempt",
      "mean batch",
      "KV used",
      "requests",
      "failed",
    ],
    rows.map((r) => [
      r.policy,
      r.jctMeanS.toFixed(2),
      r.jctP99S.toFixed(2),
      `${(100 * r.prefixHitRate).toFixed(1)} %`,
      String(r.recomputedTokens),
      (r.movedBytes / 1e6).toFixed(1),
      String(r.preemptions),
      r.batchMean.toFixed(2),
      `${(100 * r.kvOccupancy).toFixed(0)} %`,
      String(r.requests),
      String(r.failed),
    ]),
  );
}
