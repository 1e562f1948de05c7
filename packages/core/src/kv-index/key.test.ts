import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupDensity, ownShare, type Member } from "./density.ts";
import { baseKey, contributionOf, keyFrom } from "./key.ts";

/** A and s of V14: p 0.35 ms, h 47 ms, q 600, o 200. */
const V14 = { areaTokenSeconds: 6_706, serviceSeconds: 9.61, needTokens: 800 };
const member = (area: number): Member => ({
  key: baseKey({ weight: 1, contribution: 1, remainingAreaTokenSeconds: area }),
  ...V14,
});

describe("KV-area index", () => {
  it("V17: kappa 1, H 300: 20,000 at 0 and 10,000 at 207.944 s have the same key", () => {
    const key = (area: number, at: number) =>
      keyFrom(baseKey({ weight: 1, contribution: 1, remainingAreaTokenSeconds: area }), 1 / 300, at);
    expect(key(20_000, 0)).toBeCloseTo(-9.90349, 5);
    expect(key(10_000, 207.944)).toBeCloseTo(-9.90349, 5);
  });

  it("V18: density of an unpinned group from host, recomputed, and of its first request alone", () => {
    const members = [10_000, 12_000, 40_000].map(member);
    const charge = { prefixTokens: 4_000, stallTokenSeconds: 0, displaced: null };
    expect(groupDensity(members, charge)).toBeCloseTo(-10.1865, 5);
    expect(groupDensity(members.slice(0, 2), charge)).toBeCloseTo(-10.1865, 5);
    expect(groupDensity(members, { ...charge, stallTokenSeconds: 0.00035 * 4_000 * 40_000 })).toBeCloseTo(-10.78309, 5);
    expect(groupDensity(members.slice(0, 1), charge)).toBeCloseTo(-10.56258, 5);
  });

  it("V35: share of own area of k equal requests under a prefix of 6,600; starts at five, or after 20.15 s", () => {
    const one: Member = { key: 0, areaTokenSeconds: 14_075, serviceSeconds: 20.15, needTokens: 900 };
    const shares = [1, 2, 3, 4, 5].map((k) =>
      ownShare(
        Array.from({ length: k }, () => one),
        6_600,
      ),
    );
    [0.0957, 0.1747, 0.241, 0.2974, 0.3461].forEach((share, i) => expect(shares[i]!.share).toBeCloseTo(share, 3));
    expect(shares[0]!.longest).toBeCloseTo(20.15, 9);
  });

  it("property 6: the order of two keys is that of w*cr/W * e^(kappa*age/H) at every instant", () => {
    const one = fc.record({
      weight: fc.constantFrom(0.5, 1, 4),
      contribution: fc.double({ min: 0.5, max: 1, noNaN: true }),
      remainingAreaTokenSeconds: fc.integer({ min: 1, max: 1e6 }),
      arrival: fc.integer({ min: 0, max: 500 }),
    });
    fc.assert(
      fc.property(one, one, fc.array(fc.integer({ min: 500, max: 2_000 }), { minLength: 2, maxLength: 4 }), (a, b, instants) => {
        const rate = 2 / 100;
        const difference = keyFrom(baseKey(a), rate, a.arrival) - keyFrom(baseKey(b), rate, b.arrival);
        if (Math.abs(difference) < 1e-9) return;
        const index = (x: typeof a, now: number) =>
          Math.log((x.weight * x.contribution) / x.remainingAreaTokenSeconds) + rate * (now - x.arrival);
        for (const now of instants) expect(Math.sign(index(a, now) - index(b, now))).toBe(Math.sign(difference));
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it("stays finite for absurd terms, and never exceeds the first key", () => {
    for (const area of [0, -1, NaN, Infinity, 1e308])
      for (const weight of [0, NaN, Infinity, 1e-300])
        expect(Number.isFinite(baseKey({ weight, contribution: 1, remainingAreaTokenSeconds: area }))).toBe(true);
    expect(contributionOf(0, 0)).toBe(1);
    expect(contributionOf(-5, 10)).toBe(0.5);
    const apart: Member[] = [
      { ...member(1), key: 1e6 },
      { ...member(1), key: -1e6 },
    ];
    const density = groupDensity(apart, { prefixTokens: 0, stallTokenSeconds: 0, displaced: null });
    expect(Number.isFinite(density) && density <= 1e6).toBe(true);
    expect(
      groupDensity([{ ...member(1), areaTokenSeconds: 0 }], { prefixTokens: 9, stallTokenSeconds: 0, displaced: null }),
    ).toBe(-Infinity);
  });
});
