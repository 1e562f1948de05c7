import type { Receipt } from "@topas/receipt";
import { describe, expect, it } from "vitest";
import { clampAge, isExpired, taskAge, toMonotonicSeconds } from "./age.ts";

const NOW = Date.parse("2026-03-02T10:00:00Z");
const receipt = (more: Partial<Receipt>): Receipt => ({ spec: "topas.receipt/1", authority: "none", taskId: "t", ...more });

describe("foreign clocks", () => {
  it.each([
    ["120 s ahead", NOW + 120_000, 0, true],
    ["3 years ago", "2023-03-02T10:00:00Z", 60, true],
    ["20 s ago", NOW - 20_000, 20, false],
    ["20 s ago, in another zone", "2026-03-02T11:59:40+02:00", 20, false],
    ["not a number", "not a number", 0, true],
    ["a time without a zone", "2026-03-02T09:59:40", 0, true],
  ])("K76: a task %s", (_name, arrival, ageSeconds, suspect) => {
    expect(taskAge(receipt({ arrival }), NOW, 60)).toEqual({ ageSeconds, suspect });
  });

  it("K76: NaN is 0 and counted, the lead is configurable, a little jitter is not counted", () => {
    expect(clampAge(Number.NaN, 60)).toEqual({ ageSeconds: 0, suspect: true });
    expect(clampAge(Number.POSITIVE_INFINITY, 60)).toEqual({ ageSeconds: 60, suspect: true });
    expect(clampAge(90, 120)).toEqual({ ageSeconds: 90, suspect: false });
    expect(clampAge(-0.2, 60)).toEqual({ ageSeconds: 0, suspect: false });
    expect(taskAge(null, NOW, 60)).toEqual({ ageSeconds: 0, suspect: false });
  });

  it("reads taskAge where arrival is absent, under the same clamp", () => {
    const age = { value: 20_000, unit: "ms", source: "observed", asOf: NOW } as const;
    expect(taskAge(receipt({ taskAge: age }), NOW, 60)).toEqual({ ageSeconds: 20, suspect: false });
    expect(taskAge(receipt({ taskAge: { ...age, value: 1e12 } }), NOW, 60)).toEqual({ ageSeconds: 60, suspect: true });
  });

  it("expires a receipt with the clock's error allowed for", () => {
    expect(isExpired(receipt({ validUntil: NOW - 59_000 }), NOW, 60)).toBe(false);
    expect(isExpired(receipt({ validUntil: NOW - 61_000 }), NOW, 60)).toBe(true);
    expect(isExpired(receipt({ validUntil: "soon" }), NOW, 60)).toBe(false);
    expect(isExpired(receipt({}), NOW, 60)).toBe(false);
  });

  it("turns a tool's end into monotonic seconds between now and a day ahead", () => {
    expect(toMonotonicSeconds(NOW + 12_000, NOW, 5)).toBe(17);
    expect(toMonotonicSeconds(NOW - 12_000, NOW, 5)).toBe(5);
    expect(toMonotonicSeconds("2099-01-01T00:00:00Z", NOW, 5)).toBe(86_405);
    expect(toMonotonicSeconds("soon", NOW, 5)).toBeNull();
  });
});
