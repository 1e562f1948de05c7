/** Buckets of a quarter octave from one microsecond: a quantile is off by at most a tenth. */
const SMALLEST_SECONDS = 1e-6;
const PER_OCTAVE = 4;
const BUCKETS = 1 + PER_OCTAVE * 24;

/** Seconds. Quantiles are the geometric middle of their bucket, never above `maxSeconds`; all 0 before the first sample. */
export interface TimeSummary {
  readonly count: number;
  readonly totalSeconds: number;
  readonly p50Seconds: number;
  readonly p95Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

export interface TimeHistogram {
  add(seconds: number): void;
  summary(): TimeSummary;
}

/** A histogram of fixed size: one logarithm and three additions a sample, nothing allocated. */
export function createTimeHistogram(): TimeHistogram {
  const counts = new Uint32Array(BUCKETS);
  let count = 0;
  let totalSeconds = 0;
  let maxSeconds = 0;
  const quantile = (q: number): number => {
    let left = Math.ceil(q * count);
    let bucket = 0;
    while (bucket < BUCKETS - 1 && (left -= counts[bucket]!) > 0) bucket++;
    return count === 0 ? 0 : Math.min(maxSeconds, SMALLEST_SECONDS * 2 ** ((bucket - 0.5) / PER_OCTAVE));
  };
  return {
    add(seconds) {
      const bucket = seconds <= SMALLEST_SECONDS ? 0 : Math.ceil(PER_OCTAVE * Math.log2(seconds / SMALLEST_SECONDS));
      const at = Math.min(BUCKETS - 1, bucket);
      counts[at] = counts[at]! + 1;
      count++;
      totalSeconds += seconds;
      if (seconds > maxSeconds) maxSeconds = seconds;
    },
    summary: () => ({
      count,
      totalSeconds,
      p50Seconds: quantile(0.5),
      p95Seconds: quantile(0.95),
      p99Seconds: quantile(0.99),
      maxSeconds,
    }),
  };
}
