import type { Speeds } from "../config.ts";
import { geometricQuantile, PRIOR, priorOutputTokens } from "./prior.ts";
import { FULL_TRUST, STAGE, STAGE_STRIDE, type Profile } from "./profile.ts";
import type { LengthSet } from "./residual.ts";
import { RING, ringSize, type Ring } from "./ring.ts";

/**
 * Stage samples of one key at the reference speeds, ascending in X with f = 1. As columns, so that any factor f gives
 * X = fixed + f*grown and A = areaFixed + f*areaLinear + f^2*areaSquare (algorithm 2.2). Columns may be longer than `count`.
 */
export interface SampleTable {
  count: number;
  /** X and A with f = 1. */
  readonly set: LengthSet;
  /** h*So; the rest of X is `set.fixed` = p*Sq. */
  readonly grown: Float64Array;
  readonly areaFixed: Float64Array;
  readonly areaLinear: Float64Array;
  readonly areaSquare: Float64Array;
  /** Final difficulty factor of the task each sample came from. */
  readonly factor: Float64Array;
  /** The one ring behind the table, and what of it was read; null: some records are pseudo-samples. */
  readonly source: { readonly ring: Ring; seen: number; readonly slots: Uint16Array } | null;
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
  const whole = ring !== undefined && (!fill || own >= FULL_TRUST);
  const data = whole ? ring.data : recordsOf(profile, keys, speeds, priorRounds, fill);
  const count = whole ? own : data.length / STAGE_STRIDE;
  const size = whole ? Math.min(RING, 2 * count) : count;
  const column = (): Float64Array => new Float64Array(size);
  const table: SampleTable = {
    count,
    set: { count, service: column(), area: column(), fixed: column(), whole: NaN, wholeArea: NaN },
    grown: column(),
    areaFixed: column(),
    areaLinear: column(),
    areaSquare: column(),
    factor: column(),
    source: whole ? { ring, seen: ring.seen, slots: new Uint16Array(size) } : null,
  };
  const order = whole ? orderOf(data, count, speeds) : null;
  for (let k = 0; k < count; k++) {
    const slot = order === null ? k : order[k]!;
    if (table.source !== null) table.source.slots[k] = slot;
    putRow(table, k, data, slot, speeds);
  }
  return table;
}

/** Most new records that are worked in one by one. */
const MOST_NEW = 64;

/**
 * Brings a table up to what its ring has seen since, exactly as building it anew would: each new record takes the place of the
 * one it overwrote. False: it has to be built anew.
 */
export function extendTable(table: SampleTable, ring: Ring | undefined, speeds: Speeds): boolean {
  const { source } = table;
  if (source === null || source.ring !== ring || ring.seen < source.seen || ring.seen - source.seen > MOST_NEW) return false;
  if (ringSize(ring) > table.factor.length) return false;
  for (; source.seen < ring.seen; source.seen++) {
    const slot = source.seen % RING;
    const at = slot * STAGE_STRIDE;
    const service =
      speeds.prefillSecondsPerToken * ring.data[at + STAGE.prompt]! +
      speeds.decodeSecondsPerToken * ring.data[at + STAGE.output]!;
    const from = source.seen < RING ? table.count++ : source.slots.subarray(0, table.count).indexOf(slot);
    const to = placeOf(table.set.service, source.slots, table.count, from, service, slot);
    for (const column of columnsOf(table)) moveItem(column, from, to);
    putRow(table, to, ring.data, slot, speeds);
    source.slots[to] = slot;
  }
  table.set.count = table.count;
  table.set.whole = table.set.wholeArea = NaN;
  for (let k = 0; k < table.count; k++)
    table.factor[k] = Math.max(0.05, ring.data[source.slots[k]! * STAGE_STRIDE + STAGE.factor]!);
  return true;
}

/** Where a row belongs once the row at `from` is gone: ascending in X, ties by ring slot. */
function placeOf(service: Float64Array, slots: Uint16Array, count: number, from: number, x: number, slot: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = middle < from ? middle : middle + 1;
    if (service[at]! < x || (service[at] === x && slots[at]! < slot)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function columnsOf({ set, grown, areaFixed, areaLinear, areaSquare, source }: SampleTable): (Float64Array | Uint16Array)[] {
  return [set.service, set.area, set.fixed, grown, areaFixed, areaLinear, areaSquare, source!.slots];
}

/** What lies between moves one place towards `from`. */
function moveItem(column: Float64Array | Uint16Array, from: number, to: number): void {
  if (to < from) column.copyWithin(to + 1, to, from);
  else column.copyWithin(from, from + 1, to + 1);
}

function putRow(table: SampleTable, k: number, data: Float64Array, slot: number, speeds: Speeds): void {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = speeds;
  const at = slot * STAGE_STRIDE;
  const fixed = p * data[at + STAGE.prompt]!;
  const grown = h * data[at + STAGE.output]!;
  const areaFixed = p * data[at + STAGE.prompt2]!;
  const areaLinear = h * data[at + STAGE.promptOutput]!;
  const areaSquare = (h * data[at + STAGE.output2]!) / 2;
  table.set.fixed[k] = fixed;
  table.set.service[k] = fixed + grown;
  table.set.area[k] = areaFixed + areaLinear + areaSquare;
  table.grown[k] = grown;
  table.areaFixed[k] = areaFixed;
  table.areaLinear[k] = areaLinear;
  table.areaSquare[k] = areaSquare;
  table.factor[k] = Math.max(0.05, data[at + STAGE.factor]!);
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

function ascending(records: Float64Array, speeds: Speeds): Float64Array {
  const count = records.length / STAGE_STRIDE;
  const sorted = new Float64Array(records.length);
  orderOf(records, count, speeds).forEach((from, to) =>
    sorted.set(records.subarray(from * STAGE_STRIDE, (from + 1) * STAGE_STRIDE), to * STAGE_STRIDE),
  );
  return sorted;
}

/** Indices of the first `count` records, ascending in X. */
function orderOf(
  records: Float64Array,
  count: number,
  { prefillSecondsPerToken: p, decodeSecondsPerToken: h }: Speeds,
): number[] {
  const order: number[] = [];
  const service = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    order.push(k);
    service[k] = p * records[k * STAGE_STRIDE + STAGE.prompt]! + h * records[k * STAGE_STRIDE + STAGE.output]!;
  }
  return order.sort((a, b) => service[a]! - service[b]! || a - b);
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
