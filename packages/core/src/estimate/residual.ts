/**
 * Ascending pairs (X seconds, A token-seconds) of equal weight: what a whole stage may take. Storage is reused; only the
 * first `count` are valid.
 */
export interface LengthSet {
  count: number;
  service: Float64Array;
  area: Float64Array;
  /** Part of X that does not grow with the task's difficulty, seconds. */
  fixed: Float64Array;
  /** E[X] and E[A] once asked for; NaN: not yet. */
  whole: number;
  wholeArea: number;
}

const MOST_LENGTHS = 640;

export function emptySet(): LengthSet {
  const array = (): Float64Array => new Float64Array(MOST_LENGTHS);
  return { count: 0, service: array(), area: array(), fixed: array(), whole: NaN, wholeArea: NaN };
}

export function wholeSeconds(set: LengthSet): number {
  if (Number.isNaN(set.whole)) set.whole = meanResidual(set, 0, 0);
  return set.whole;
}

export function wholeArea(set: LengthSet): number {
  if (Number.isNaN(set.wholeArea)) set.wholeArea = meanAreaLeft(set, 0, 0);
  return set.wholeArea;
}

/** Inserts a pair in order; the set must have been filled in nearly ascending order. */
export function insertLength(set: LengthSet, serviceSeconds: number, areaTokenSeconds: number, fixedSeconds: number): void {
  if (set.count >= set.service.length) return;
  let k = set.count;
  for (; k > 0 && set.service[k - 1]! > serviceSeconds; k--) {
    set.service[k] = set.service[k - 1]!;
    set.area[k] = set.area[k - 1]!;
    set.fixed[k] = set.fixed[k - 1]!;
  }
  set.service[k] = serviceSeconds;
  set.area[k] = areaTokenSeconds;
  set.fixed[k] = fixedSeconds;
  set.count += 1;
}

/** Index of the first length above e. */
export function firstAbove(set: LengthSet, attainedSeconds: number): number {
  if (!(attainedSeconds > 0)) return 0;
  let low = 0;
  let high = set.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set.service[middle]! > attainedSeconds) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** E[X - e | X > e], seconds (Eq. 4, algorithm 2.4, vector V4). No length above e: max(h, mean excess over the 90th percentile). */
export function meanResidual(set: LengthSet, attainedSeconds: number, leastSeconds: number): number {
  const e = Math.max(0, attainedSeconds);
  const from = firstAbove(set, e);
  if (from === set.count) return Math.max(leastSeconds, excessOverTail(set));
  let sum = 0;
  for (let k = from; k < set.count; k++) sum += set.service[k]! - e;
  return sum / (set.count - from);
}

function excessOverTail(set: LengthSet): number {
  if (set.count === 0) return 0;
  const bound = set.service[Math.min(set.count - 1, Math.floor(0.9 * set.count))]!;
  const from = firstAbove(set, bound);
  let sum = 0;
  for (let k = from; k < set.count; k++) sum += set.service[k]! - bound;
  return from === set.count ? 0 : sum / (set.count - from);
}

/** E[A*(1 - e/X) | X > e], token-seconds (algorithm 2.7, vector V15). No length above e: the largest area's share of the last h. */
export function meanAreaLeft(set: LengthSet, attainedSeconds: number, leastSeconds: number): number {
  const e = Math.max(0, attainedSeconds);
  const from = firstAbove(set, e);
  if (from === set.count) {
    if (set.count === 0) return 0;
    const longest = set.service[set.count - 1]!;
    const left = Math.max(leastSeconds, excessOverTail(set));
    return longest > 0 ? set.area[set.count - 1]! * Math.min(1, left / longest) : 0;
  }
  let sum = 0;
  for (let k = from; k < set.count; k++) {
    const x = set.service[k]!;
    sum += x > 0 ? set.area[k]! * (1 - e / x) : 0;
  }
  return sum / (set.count - from);
}

/** Rows of joint samples: sample m is the residual at quantile (rank_m + 0.5) / M, rescaled to the exact mean (2.5). */
export function drawResiduals(
  out: Float64Array,
  offset: number,
  samples: number,
  ranks: Uint16Array,
  set: LengthSet,
  attainedSeconds: number,
  mean: number,
  factors: Float64Array | null,
): void {
  const e = Math.max(0, attainedSeconds);
  const from = firstAbove(set, e);
  let sum = 0;
  for (let m = 0; m < samples; m++) {
    const value =
      factors === null ? at(set, from, e, (ranks[m]! + 0.5) / samples) : scaled(set, e, (ranks[m]! + 0.5) / samples, factors[m]!);
    const z = value < 0 ? mean : value;
    out[offset + m] = z;
    sum += z;
  }
  const scale = sum > 0 ? (mean * samples) / sum : 0;
  for (let m = 0; m < samples; m++) out[offset + m] = sum > 0 ? out[offset + m]! * scale : mean;
}

/** -1: no length is above e. */
function at(set: LengthSet, from: number, e: number, u: number): number {
  const left = set.count - from;
  return left === 0 ? -1 : set.service[from + Math.min(left - 1, Math.floor(u * left))]! - e;
}

/** The same after multiplying what grows with difficulty by d; the order of the set is kept, which is exact but for near ties. */
function scaled(set: LengthSet, e: number, u: number, d: number): number {
  const grown = (k: number): number => set.fixed[k]! + (set.service[k]! - set.fixed[k]!) * d;
  let low = 0;
  let high = e > 0 ? set.count : 0;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (grown(middle) > e) high = middle;
    else low = middle + 1;
  }
  const left = set.count - low;
  return left === 0 ? -1 : Math.max(0, grown(low + Math.min(left - 1, Math.floor(u * left))) - e);
}

/** Storage of the pairs until it is known how many there are. */
let pairs = new Float64Array(64);

/** Values and weights of the residual's distinct values, interleaved; null when there are more than `most`. */
export function residualSupport(
  set: LengthSet,
  from: number,
  attainedSeconds: number,
  most: number,
  fallback: number,
): Float64Array | null {
  const left = set.count - from;
  if (left === 0) return Float64Array.of(fallback, 1);
  if (pairs.length < 2 * most) pairs = new Float64Array(2 * most);
  let end = 0;
  for (let k = from; k < set.count; k++) {
    const value = set.service[k]! - Math.max(0, attainedSeconds);
    if (end > 0 && pairs[end - 2] === value) pairs[end - 1]! += 1 / left;
    else if (end >= 2 * most) return null;
    else {
      pairs[end] = value;
      pairs[end + 1] = 1 / left;
      end += 2;
    }
  }
  return pairs.slice(0, end);
}
