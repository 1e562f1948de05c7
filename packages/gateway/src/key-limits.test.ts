import { describe, expect, it } from "vitest";
import { GatewayError } from "./errors.ts";
import { createKeyLimiter, noKeyLimits, type KeyLimiter, type Lease } from "./key-limits.ts";

const take = (limiter: KeyLimiter, nowSeconds: number, key = "k"): Lease => {
  const lease = limiter.take(key, nowSeconds);
  if (lease === null) throw new Error("no limits");
  return lease;
};

const refusal = (act: () => Lease): GatewayError => {
  try {
    act();
  } catch (error) {
    if (GatewayError.isInstance(error)) return error;
  }
  throw new Error("was admitted");
};

describe("limits of a key", () => {
  it("K44 a refused call uses no quota: 3 requests a minute, 1 in flight", () => {
    const limiter = createKeyLimiter({ ...noKeyLimits, inFlight: 1, requestsPerMinute: 3 });
    const a = take(limiter, 0);
    for (const _ of ["B", "C"]) expect(refusal(() => take(limiter, 0.1)).message).toContain("1 calls in flight");
    a.release(0.2, 0);
    take(limiter, 0.3).release(0.4, 0);
    take(limiter, 0.5).release(0.6, 0);
    const f = refusal(() => take(limiter, 0.7));
    expect(f).toMatchObject({ code: "rate_limit_exceeded", status: 429, droppedReason: "rejected-quota" });
    expect(f.message).toContain("3 requests per minute");
    expect(f.retryAfterSeconds).toBe(20);
    take(limiter, 0.7 + 20).release(21, 0);
    take(limiter, 0.7, "other").release(1, 0);
    expect(limiter.counters()).toEqual({
      refused_key_in_flight_total: 2,
      refused_key_requests_total: 1,
      refused_key_tokens_total: 0,
    });
  });

  it("tokens are booked at the end; over the limit the next call waits until enough has drained", () => {
    const limiter = createKeyLimiter({ ...noKeyLimits, tokensPerMinute: 600 });
    take(limiter, 0).release(1, 900);
    expect(refusal(() => take(limiter, 1)).retryAfterSeconds).toBe(30);
    take(limiter, 31.1).release(32, 0);
  });

  it("a call given back was no request; ends are told once", () => {
    const limiter = createKeyLimiter({ ...noKeyLimits, inFlight: 1, requestsPerMinute: 1 });
    const lease = take(limiter, 0);
    lease.giveBack();
    lease.giveBack();
    lease.release(0, 10);
    const next = take(limiter, 0);
    expect(() => take(limiter, 0)).toThrow(/in flight/);
    next.release(0, 0);
    next.release(0, 0);
    expect(() => take(limiter, 0)).toThrow(/requests per minute/);
  });

  it("new limits hold for the next call; those in flight keep their place", () => {
    const limiter = createKeyLimiter();
    expect(limiter.take("k", 0)).toBeNull();
    limiter.limits = { ...noKeyLimits, inFlight: 2 };
    const held = take(limiter, 1);
    limiter.limits = { ...noKeyLimits, inFlight: 1 };
    expect(() => take(limiter, 1)).toThrow(/its limit is 1/);
    limiter.limits = noKeyLimits;
    expect(limiter.take("k", 1)).toBeNull();
    limiter.limits = { ...noKeyLimits, inFlight: 1 };
    held.release(2, 0);
    take(limiter, 3).release(3, 0);
  });

  it("ten thousand keys leave nothing behind once they are idle", () => {
    const limiter = createKeyLimiter({ ...noKeyLimits, requestsPerMinute: 600 });
    for (let i = 0; i < 10_000; i++) take(limiter, i, `k${i}`).release(i, 5);
    expect(limiter.size).toBeLessThan(1_100);
  });
});
