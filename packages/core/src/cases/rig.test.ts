import { describe, expect, it } from "vitest";
import { policy } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, createRig } from "../testing/rig-e.ts";

describe("rig E itself", () => {
  it("a call alone takes uncached / 8,000 + (out - 1) x 0.030 s, cold and warm", () => {
    const rig = createRig({ policy: policy("fcfs") });
    submit(rig, { id: "cold", at: 0, prefix: AGENT.CODE, own: 208, out: 100 });
    submit(rig, { id: "warm", at: 10, prefix: AGENT.CODE, own: 208, out: 100 });
    expect(run(rig)).toBe(true);
    const [cold, warm] = [rig.calls.get("cold")!, rig.calls.get("warm")!];
    expect(cold.doneSeconds).toBeCloseTo(9_200 / 8_000 + 99 * 0.03, 9);
    expect(warm.doneSeconds! - 10).toBeCloseTo(208 / 8_000 + 99 * 0.03, 9);
    expect([cold.cachedTokens, warm.cachedTokens]).toEqual([0, 8_992]);
  });

  it("a chunk is 2,048 prompt tokens in order of admission, and a copy of CODE takes 0.589 s", () => {
    const rig = createRig({ policy: policy("fcfs"), config: { hostTier: true } });
    submit(rig, { id: "a", at: 0, own: 2_048, out: 1 });
    submit(rig, { id: "b", at: 0, own: 2_048, out: 1 });
    expect(run(rig)).toBe(true);
    expect(rig.calls.get("a")!.doneSeconds).toBeCloseTo(0.256, 9);
    expect(rig.calls.get("b")!.doneSeconds).toBeCloseTo(0.512, 9);
  });
});
