import type { Speeds } from "../config.ts";
import { geometricQuantile, PRIOR, priorOutputTokens } from "./prior.ts";
import { FULL_TRUST, STAGE, STAGE_STRIDE, type Profile } from "./profile.ts";
import type { LengthSet } from "./residual.ts";
import { ringSize } from "./ring.ts";

/**
 * Stage samples of one key at the reference speeds, ascending in X with f = 1. As columns, so that any factor f gives
 * X = fixed + f*grown and A = areaFixed + f*areaLinear + f^2*areaSquare (algorithm 2.2).
 */
export interface SampleTable {
  readonly count: number;
  /** X and A with f = 1. */
  readonly set: LengthSet;
  /** h*So; the rest of X is `set.fixed` = p*Sq. */
  readonly grown: Float64Array;
  readonly areaFixed: Float64Array;
  readonly areaLinear: Float64Array;
  readonly areaSquare: Float64Array;
  /** Final difficulty factor of the task each sample came from. */
  readonly factor: Float64Array;
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
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = speeds;
  const records = recordsOf(profile, keys, speeds, priorRounds, fill);
  const count = records.length / STAGE_STRIDE;
  const column = (of: (at: number) => number): Float64Array =>
    Float64Array.from({ length: count }, (_, k) => of(k * STAGE_STRIDE));
  const fixed = column((at) => p * records[at + STAGE.prompt]!);
  const grown = column((at) => h * records[at + STAGE.output]!);
  const areaFixed = column((at) => p * records[at + STAGE.prompt2]!);
  const areaLinear = column((at) => h * records[at + STAGE.promptOutput]!);
  const areaSquare = column((at) => (h * records[at + STAGE.output2]!) / 2);
  const service = fixed.map((value, k) => value + grown[k]!);
  const area = areaFixed.map((value, k) => value + areaLinear[k]! + areaSquare[k]!);
  const factor = column((at) => Math.max(0.05, records[at + STAGE.factor]!));
  return { count, set: { count, service, area, fixed }, grown, areaFixed, areaLinear, areaSquare, factor };
}

/** Records of `STAGE_STRIDE` numbers in ascending order of X. */
function recordsOf(profile: Profile, keys: readonly string[], speeds: Speeds, priorRounds: number, fill: boolean): Float64Array {
  const ring = keys[0] === undefined ? undefined : profile.stats.get(keys[0])?.stageRing;
  const own = ring === undefined ? 0 : ringSize(ring);
  const missing = fill ? Math.max(0, FULL_TRUST - own) : 0;
  const records = new Float64Array((own + missing) * STAGE_STRIDE);
  if (ring !== undefined) records.set(ring.data.subarray(0, own * STAGE_STRIDE));
  if (missing > 0) {
    const pseudo =
      keys.length > 1
        ? quantilesOf(recordsOf(profile, keys.slice(1), speeds, priorRounds, true), missing)
        : priorRecords(missing, priorRounds);
    records.set(pseudo, own * STAGE_STRIDE);
  }
  return ascending(records, speeds);
}

function ascending(records: Float64Array, { prefillSecondsPerToken: p, decodeSecondsPerToken: h }: Speeds): Float64Array {
  const count = records.length / STAGE_STRIDE;
  const order = Array.from({ length: count }, (_, k) => k);
  const service = order.map((k) => p * records[k * STAGE_STRIDE + STAGE.prompt]! + h * records[k * STAGE_STRIDE + STAGE.output]!);
  order.sort((a, b) => service[a]! - service[b]! || a - b);
  const sorted = new Float64Array(records.length);
  order.forEach((from, to) => sorted.set(records.subarray(from * STAGE_STRIDE, (from + 1) * STAGE_STRIDE), to * STAGE_STRIDE));
  return sorted;
}

/** `count` records at stratified quantiles, their outputs rescaled to the exact mean. */
function quantilesOf(records: Float64Array, count: number): Float64Array {
  const from = records.length / STAGE_STRIDE;
  const out = new Float64Array(count * STAGE_STRIDE);
  for (let i = 0; i < count; i++) {
    const k = Math.min(from - 1, Math.floor(((i + 0.5) / count) * from));
    out.set(records.subarray(k * STAGE_STRIDE, (k + 1) * STAGE_STRIDE), i * STAGE_STRIDE);
  }
  rescaleOutputs(out, meanOutput(records));
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
  rescaleOutputs(out, rounds * PRIOR.outputTokens);
  return out;
}

function meanOutput(records: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < records.length; at += STAGE_STRIDE) sum += records[at + STAGE.output]!;
  return records.length === 0 ? 0 : (sum * STAGE_STRIDE) / records.length;
}

function rescaleOutputs(records: Float64Array, mean: number): void {
  const now = meanOutput(records);
  const scale = now > 0 ? mean / now : 1;
  for (let at = 0; at < records.length; at += STAGE_STRIDE) {
    records[at + STAGE.output]! *= scale;
    records[at + STAGE.promptOutput]! *= scale;
    records[at + STAGE.output2]! *= scale * scale;
  }
}
