/** Rows of the bench, as `--json` prints them, and their tables. */
import type { Run } from "./jobs.ts";

/** Prefill or decode beside the bare loop; milliseconds are per step. */
export interface StepRow {
  readonly model: string;
  readonly what: "prefill" | "decode";
  /** Sequences with a row in each step (prefill: 1). */
  readonly batch: number;
  /** Prefill: prompt tokens. Decode: tokens of each sequence. */
  readonly tokens: number;
  readonly rounds: number;
  /** Medians over rounds. */
  readonly tokensPerSecond: number;
  readonly rawTokensPerSecond: number;
  /** Whole step, from one step's end to the next one's: median over rounds. */
  readonly stepMs: number;
  readonly rawStepMs: number;
  /** The part inside `llama_decode`, the engine's with the way to the worker thread and back: median over rounds. */
  readonly insideMs: number;
  readonly rawInsideMs: number;
  /** Median over rounds of (our whole step / the bare loop's - 1), percent, and its quartiles. */
  readonly overheadPct: number;
  readonly overheadQuartilesPct: readonly [number, number];
  /** The same for the run nobody disturbed: of every few consecutive steps the fastest round, on either side. */
  readonly quietStepMs: number;
  readonly rawQuietStepMs: number;
  readonly quietOverheadPct: number;
  /** Both overheads at most, or above, the target; `unclear`: they disagree, the machine was too busy to tell. */
  readonly verdict: "PASS" | "MISS" | "unclear";
}

/** A prefix computed again beside the same prefix brought back from the host tier; medians, wall time of the command. */
export interface PrefixRow {
  readonly model: string;
  readonly what: "prefix";
  readonly tokens: number;
  readonly rounds: number;
  readonly recomputeMs: number;
  readonly saveMs: number;
  readonly restoreMs: number;
  readonly bytes: number;
  /** recomputeMs / restoreMs. */
  readonly ratio: number;
}

export const TARGET_PCT = 5;

/** Type-7 quantile; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  return low + ((sorted[Math.ceil(at)] ?? low) - low) * (at - Math.floor(at));
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
export const mean = (values: readonly number[]): number => sum(values) / values.length;
export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** How the two sides compare in `pairs` of runs of the same job. */
export function compareRuns(
  pairs: readonly { readonly ours: Run; readonly raw: Run }[],
): Omit<StepRow, "model" | "what" | "batch" | "tokens" | "tokensPerSecond" | "rawTokensPerSecond"> {
  const ours = pairs.map((pair) => pair.ours);
  const raw = pairs.map((pair) => pair.raw);
  const medianOf = (runs: readonly Run[], key: keyof Run): number => median(runs.map((run) => mean(run[key])));
  const rawStepMs = medianOf(raw, "stepMs");
  const overheads = pairs.map((pair) => 100 * (mean(pair.ours.stepMs) / mean(pair.raw.stepMs) - 1));
  const overheadPct = median(overheads);
  // Reports travel between processes: single short steps jitter, several together do not.
  const together = Math.max(1, Math.min(8, Math.round(QUIET_MS / rawStepMs)));
  const [quietStepMs, rawQuietStepMs] = [quietStep(ours, together), quietStep(raw, together)];
  const quietOverheadPct = 100 * (quietStepMs / rawQuietStepMs - 1);
  const passes = [overheadPct, quietOverheadPct].filter((pct) => pct <= TARGET_PCT).length;
  return {
    rounds: pairs.length,
    stepMs: medianOf(ours, "stepMs"),
    rawStepMs,
    insideMs: medianOf(ours, "insideMs"),
    rawInsideMs: medianOf(raw, "insideMs"),
    overheadPct,
    overheadQuartilesPct: [quantile(overheads, 0.25), quantile(overheads, 0.75)],
    quietStepMs,
    rawQuietStepMs,
    quietOverheadPct,
    verdict: passes === 2 ? "PASS" : passes === 0 ? "MISS" : "unclear",
  };
}

/** About as long as a scheduler leaves a thread alone on a busy machine. */
const QUIET_MS = 4;

/** Mean step of a run put together from the fastest occurrence of each `together` steps. */
function quietStep(runs: readonly Run[], together: number): number {
  const steps = runs[0]?.stepMs.length ?? 0;
  let total = 0;
  for (let from = 0; from < steps; from += together) {
    total += Math.min(...runs.map((run) => sum(run.stepMs.slice(from, from + together))));
  }
  return total / steps;
}

export function stepTable(rows: readonly StepRow[]): string {
  const pct = (value: number): string => value.toFixed(1);
  return table(
    [
      "model",
      "job",
      "tok/s",
      "raw",
      "step ms",
      "raw",
      "in decode",
      "raw",
      "overhead %",
      "quiet ms",
      "raw",
      "quiet %",
      "",
      "rounds",
    ],
    rows.map((r) => [
      r.model,
      r.what === "prefill" ? `prefill ${r.tokens}` : `decode, batch ${r.batch}`,
      r.tokensPerSecond.toFixed(0),
      r.rawTokensPerSecond.toFixed(0),
      r.stepMs.toFixed(3),
      r.rawStepMs.toFixed(3),
      r.insideMs.toFixed(3),
      r.rawInsideMs.toFixed(3),
      `${pct(r.overheadPct)} [${r.overheadQuartilesPct.map(pct).join(", ")}]`,
      r.quietStepMs.toFixed(3),
      r.rawQuietStepMs.toFixed(3),
      pct(r.quietOverheadPct),
      r.verdict,
      String(r.rounds),
    ]),
  );
}

export function prefixTable(rows: readonly PrefixRow[]): string {
  return table(
    ["model", "prefix tokens", "recompute ms", "save ms", "restore ms", "KiB", "recompute / restore", "rounds"],
    rows.map((r) => [
      r.model,
      String(r.tokens),
      r.recomputeMs.toFixed(1),
      r.saveMs.toFixed(2),
      r.restoreMs.toFixed(2),
      (r.bytes / 1024).toFixed(0),
      r.ratio.toFixed(0),
      String(r.rounds),
    ]),
  );
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headers, ...rows];
  const width = headers.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i < 2 ? cell.padEnd(width[i] ?? 0) : cell.padStart(width[i] ?? 0))).join("  ");
  return [line(headers), width.map((w) => "-".repeat(w)).join("  "), ...rows.map(line)].join("\n");
}
