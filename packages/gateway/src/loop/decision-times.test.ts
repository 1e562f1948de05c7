import { describe, expect, it } from "vitest";
import { createTimeHistogram } from "./decision-times.ts";

describe("decision times", () => {
  it("quantiles are within a tenth of the sorted samples, from a microsecond to ten seconds", () => {
    const h = createTimeHistogram();
    const samples: number[] = [];
    let random = 7;
    for (let i = 0; i < 5_000; i++) {
      random = (random * 48_271) % 2_147_483_647;
      const seconds = 1e-6 * 10 ** ((7 * random) / 2_147_483_647);
      samples.push(seconds);
      h.add(seconds);
    }
    samples.sort((a, b) => a - b);
    const s = h.summary();
    expect(s.count).toBe(5_000);
    expect(s.totalSeconds).toBeCloseTo(
      samples.reduce((sum, x) => sum + x, 0),
      6,
    );
    expect(s.maxSeconds).toBe(samples.at(-1));
    for (const [q, got] of [
      [0.5, s.p50Seconds],
      [0.95, s.p95Seconds],
      [0.99, s.p99Seconds],
    ] as const) {
      const exact = samples[Math.ceil(q * samples.length) - 1]!;
      expect(Math.abs(got / exact - 1), `p${100 * q}: ${got} against ${exact}`).toBeLessThan(0.1);
    }
  });

  it("is 0 before the first sample, and absurd samples stay in the outer buckets", () => {
    const h = createTimeHistogram();
    expect(h.summary()).toMatchObject({ count: 0, p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 });
    h.add(0);
    h.add(1e9);
    expect(h.summary()).toMatchObject({ count: 2, maxSeconds: 1e9 });
    expect(h.summary().p50Seconds).toBeLessThanOrEqual(1e-6);
  });
});
