import { describe, expect, it } from "vitest";
import type { Policy } from "../policy/policy.ts";
import { policy } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, BLOCK, POOL, createRig, type CallRecord, type Rig } from "../testing/rig-e.ts";
import { percentile, waitOf } from "../testing/measure.ts";

/** CODE resident; 330 warm CODE calls, one every 200 ms from 0 s; one cold call X at 6 s. */
function coldAmongWarm(chosen: Policy): { x: CallRecord; wait: number; rig: Rig } {
  const rig = createRig({ policy: chosen });
  submit(rig, { id: "seed", at: 0, prefix: AGENT.CODE, own: 208, out: 1 });
  for (let i = 0; i < 330; i++) submit(rig, { id: `w${i}`, at: 6 + 0.2 * i, prefix: AGENT.CODE, own: 208, out: 100 });
  submit(rig, { id: "X", at: 12, prefix: ["X", 2_992], own: 108, out: 100 });
  expect(run(rig)).toBe(true);
  const x = rig.calls.get("X")!;
  return { x, wait: waitOf(x), rig };
}

describe("K08 one cold call behind a stream of warm ones", () => {
  it("with 500 tokens per pass it starts within 25 s and is overtaken at most 45 times", () => {
    const { x, wait } = coldAmongWarm(policy("lpm-age", { tokensPerPass: 500, fallbackAbove: Infinity }));
    expect(wait).toBeLessThan(25);
    expect(x.overtakenBy.length).toBeLessThanOrEqual(45);
  });

  it.each([policy("topas-nopre"), policy("topas-guarded"), policy("kv-index-safe", { maxWaitSeconds: 20 })])(
    "$id meets the same two limits",
    (chosen) => {
      const { x, wait } = coldAmongWarm(chosen);
      expect(wait).toBeLessThan(25);
      expect(x.overtakenBy.length).toBeLessThanOrEqual(45);
    },
  );

  it("control: without age it still waits when the stream ends; first come, first served takes it after 5 s", () => {
    const blind = coldAmongWarm(policy("lpm", { fallbackAbove: Infinity }));
    expect(blind.wait).toBeGreaterThan(60);
    expect(blind.x.overtakenBy.length).toBeGreaterThan(250);
    const fair = coldAmongWarm(policy("fcfs"));
    expect(fair.wait).toBeCloseTo(4.9, 0);
    expect(fair.x.overtakenBy).toEqual([]);
  });
});

const ONE_SLOT = 12_288;

describe("K06 alternating agents on one slot", () => {
  /** `budgetTokens`: room for one prefix and one call, as in a slot, or by default for both prefixes. */
  function alternating(chosen: Policy, budgetTokens = POOL * BLOCK): { switches: number; overtakes: number } {
    const rig = createRig({ policy: chosen, config: { maxRunning: 1, budgetTokens } });
    for (let i = 0; i < 20; i++) {
      const prefix = i % 2 === 0 ? AGENT.PLAN : AGENT.CODE;
      submit(rig, {
        id: `r${String(i).padStart(2, "0")}`,
        at: 0,
        task: `t${String(i).padStart(2, "0")}`,
        prefix,
        own: 208,
        out: 10,
      });
    }
    expect(run(rig)).toBe(true);
    const order = [...rig.calls.values()].toSorted((a, b) => a.admittedSeconds! - b.admittedSeconds!);
    const switches = order.filter((c, i) => i > 0 && c.spec.prefix!.id !== order[i - 1]!.spec.prefix!.id).length;
    return { switches, overtakes: Math.max(...order.map((c) => c.overtakenBy.length)) };
  }

  it.each(["lpm-task", "topas"])("%s groups by prefix: at most three switches", (id) => {
    expect(alternating(policy(id)).switches).toBeLessThanOrEqual(3);
  });

  it.each(["lpm-task-g", "lpm-g", "topas-guarded", "topas-nopre"])(
    "%s with at most four overtakes: three switches, nobody overtaken more often",
    (id) => {
      const { switches, overtakes } = alternating(policy(id, { maxOvertakes: 4 }), ONE_SLOT);
      expect(switches).toBeLessThanOrEqual(3);
      expect(overtakes).toBeLessThanOrEqual(4);
    },
  );

  it("control: grouping without a limit overtakes nine times", () => {
    expect(alternating(policy("lpm-task"), ONE_SLOT).overtakes).toBe(9);
  });

  it("control: first come, first served switches 19 times", () => {
    expect(alternating(policy("task-fcfs"))).toEqual({ switches: 19, overtakes: 0 });
  });
});

describe("K29 two long prompts, many short ones", () => {
  function mixed(shares: boolean, shorts: number): { p99: number; long: number[] } {
    const rig = createRig({ policy: policy("topas"), ...(shares ? { shareTokens: 1_024 } : {}) });
    for (const id of ["L0", "L1"]) submit(rig, { id, at: 0, own: 14_000, out: 20 });
    for (let i = 0; i < shorts; i++) submit(rig, { id: `s${i}`, at: 0.05 + 0.25 * i, own: 300, out: 4 });
    expect(run(rig)).toBe(true);
    const first = [...rig.calls.values()].filter((c) => c.spec.id.startsWith("s"));
    return {
      p99: percentile(
        first.map((c) => c.firstTokenSeconds! - c.call.at),
        0.99,
      ),
      long: ["L0", "L1"].map((id) => rig.calls.get(id)!.doneSeconds!),
    };
  }

  it("core admits all at once, and with a share of each step the short ones answer within 0.75 s", () => {
    const { p99, long } = mixed(true, 16);
    const alone = mixed(true, 0).long;
    expect(p99).toBeLessThanOrEqual(0.75);
    long.forEach((seconds, i) => expect(seconds).toBeLessThanOrEqual(1.3 * alone[i]!));
  });

  it("control: without a share the short ones wait 3.74 s", () => {
    expect(mixed(false, 16).p99).toBeCloseTo(3.74, 1);
  });
});

describe("K49 six hundred siblings in one tick", () => {
  function burst(id: string): { waitY: number; endX: number } {
    const rig = createRig({ policy: policy(id) });
    for (let i = 0; i < 600; i++)
      submit(rig, { id: `x${String(i).padStart(3, "0")}`, at: 0, task: "X", agent: "X", own: 100, out: 20 });
    for (let p = 0; p < 5; p++)
      for (let i = 0; i < 30; i++)
        submit(rig, { id: `y${p}-${i}`, at: i + 0.1 * p + 0.05, task: `Y${p}`, agent: "Y", own: 100, out: 20 });
    expect(run(rig)).toBe(true);
    const calls = [...rig.calls.values()];
    const of = (x: boolean): CallRecord[] => calls.filter((c) => (c.spec.task === "X") === x);
    return { waitY: percentile(of(false).map(waitOf), 0.99), endX: Math.max(...of(true).map((c) => c.doneSeconds!)) };
  }

  it.each(["topas", "topas-nopre", "srpt-w-o"])("%s: the others wait at most 0.75 s, the burst ends within 1.3 x alone", (id) => {
    const { waitY, endX } = burst(id);
    expect(waitY).toBeLessThanOrEqual(0.75);
    expect(endX).toBeLessThan(65);
  });

  it("control: first come, first served makes the others wait 50 s", () => {
    expect(burst("fcfs").waitY).toBeCloseTo(50, 0);
  });
});
