import type { Speeds } from "../config.ts";
import { geometricQuantile, PRIOR, priorOutputTokens } from "./prior.ts";
import { FULL_TRUST, STAGE, STAGE_STRIDE, type Profile } from "./profile.ts";
import { ringSize } from "./ring.ts";

/** Stage samples of one key in ascending order of X at the reference speeds: `count` records of `STAGE_STRIDE` numbers. */
export interface SampleTable {
  readonly count: number;
  /** Of them, observed under this very key; the rest are pseudo-samples. */
  readonly own: number;
  readonly records: Float64Array;
}

/** X = p*Sq + h*f*So of record k, seconds (algorithm 2.2). */
export function stageService(table: SampleTable, k: number, speeds: Speeds, factor: number): number {
  const at = k * STAGE_STRIDE;
  return (
    speeds.prefillSecondsPerToken * table.records[at + STAGE.prompt]! +
    speeds.decodeSecondsPerToken * factor * table.records[at + STAGE.output]!
  );
}

/** A = h*(f*Sqo + f^2*So2/2) + p*Sq2 of record k, token-seconds. */
export function stageArea(table: SampleTable, k: number, speeds: Speeds, factor: number): number {
  const { records } = table;
  const at = k * STAGE_STRIDE;
  const grown = factor * records[at + STAGE.promptOutput]! + (factor * factor * records[at + STAGE.output2]!) / 2;
  return speeds.decodeSecondsPerToken * grown + speeds.prefillSecondsPerToken * records[at + STAGE.prompt2]!;
}

/**
 * Own samples; fewer than 8 are filled up with stratified quantiles of the parent key, and so on up to the built-in prior
 * (2.3). `fill` false: own samples only.
 */
export function buildTable(
  profile: Profile,
  keys: readonly string[],
  speeds: Speeds,
  priorRounds: number,
  fill: boolean,
): SampleTable {
  const ring = keys[0] === undefined ? undefined : profile.stats.get(keys[0])?.stageRing;
  const own = ring === undefined ? 0 : ringSize(ring);
  const missing = fill ? Math.max(0, FULL_TRUST - own) : 0;
  const records = new Float64Array((own + missing) * STAGE_STRIDE);
  if (ring !== undefined) records.set(ring.data.subarray(0, own * STAGE_STRIDE));
  if (missing > 0) {
    const pseudo =
      keys.length > 1
        ? quantilesOf(buildTable(profile, keys.slice(1), speeds, priorRounds, true), missing)
        : priorRecords(missing, priorRounds);
    records.set(pseudo, own * STAGE_STRIDE);
  }
  return ascending({ count: own + missing, own, records }, speeds);
}

function ascending(table: SampleTable, speeds: Speeds): SampleTable {
  const { count, records } = table;
  const order = Array.from({ length: count }, (_, k) => k);
  const service = Float64Array.from(order, (k) => stageService(table, k, speeds, 1));
  order.sort((a, b) => service[a]! - service[b]! || a - b);
  const sorted = new Float64Array(records.length);
  order.forEach((from, to) => sorted.set(records.subarray(from * STAGE_STRIDE, (from + 1) * STAGE_STRIDE), to * STAGE_STRIDE));
  return { ...table, records: sorted };
}

/** `count` records at stratified quantiles, their outputs rescaled to the exact mean. */
function quantilesOf(table: SampleTable, count: number): Float64Array {
  const out = new Float64Array(count * STAGE_STRIDE);
  for (let i = 0; i < count; i++) {
    const k = Math.min(table.count - 1, Math.floor(((i + 0.5) / count) * table.count));
    out.set(table.records.subarray(k * STAGE_STRIDE, (k + 1) * STAGE_STRIDE), i * STAGE_STRIDE);
  }
  rescaleOutputs(out, count, meanOf(table.records, table.count, STAGE.output));
  return out;
}

function priorRecords(count: number, rounds: number): Float64Array {
  const out = new Float64Array(count * STAGE_STRIDE);
  for (let i = 0; i < count; i++) {
    const o = priorOutputTokens((i + 0.5) / count);
    const q = PRIOR.promptTokens;
    const n = geometricQuantile(rounds, (((i * 3 + 1) % count) + 0.5) / count);
    out.set([n * q, n * o, n * q * o, n * o * o, n * q * q, n, 1], i * STAGE_STRIDE);
  }
  rescaleOutputs(out, count, rounds * PRIOR.outputTokens);
  return out;
}

function meanOf(records: Float64Array, count: number, field: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += records[i * STAGE_STRIDE + field]!;
  return count === 0 ? 0 : sum / count;
}

function rescaleOutputs(records: Float64Array, count: number, mean: number): void {
  const now = meanOf(records, count, STAGE.output);
  const scale = now > 0 ? mean / now : 1;
  for (let i = 0; i < count; i++) {
    const at = i * STAGE_STRIDE;
    records[at + STAGE.output]! *= scale;
    records[at + STAGE.promptOutput]! *= scale;
    records[at + STAGE.output2]! *= scale * scale;
  }
}
