import { createPolicy, decide } from "@topas/core";
import { expect, test } from "vitest";
import { barFor } from "./bars.ts";
import { measureDecide } from "./decide.ts";
import { measureMemory } from "./memory.ts";
import { Traffic } from "./traffic.ts";

test("the traffic is contended and the same for the same seed", () => {
  const play = () => {
    const traffic = new Traffic({ waiting: 30, running: 5, agents: 8, seed: 7 });
    const policy = createPolicy("fcfs-o")!;
    const log: string[] = [];
    let left = 0;
    for (let i = 0; i < 60; i++) {
      traffic.advance();
      traffic.refill();
      const decision = decide(traffic.state, policy, traffic.now);
      traffic.carryOut(decision);
      log.push(...decision.admit.map(({ request }) => request));
      left += traffic.state.waiting.size;
    }
    return { log, left };
  };
  const first = play();
  expect(first.log.length).toBeGreaterThan(30);
  expect(first.left).toBeGreaterThan(60 * 10);
  expect(play()).toEqual(first);
});

test("a row has every figure, in order, and a bar for 20 running", () => {
  const row = measureDecide("lpm-task-o", 40, 10, 0.05);
  expect(row).toMatchObject({ policy: "lpm-task-o", waiting: 40, running: 10 });
  expect(row.decisions).toBeGreaterThanOrEqual(30);
  expect(row.p50Us).toBeLessThanOrEqual(row.p95Us);
  expect(row.p95Us).toBeLessThanOrEqual(row.p99Us);
  expect(row.p99Us).toBeLessThanOrEqual(row.maxUs);
  expect(row.bytesPerDecision).toBeGreaterThan(0);
  expect(barFor("topas", 1_000, 20)).toEqual({ p50Us: 6_000, p99Us: 18_000 });
  expect(barFor("kv-index-safe", 10_000, 20)).toEqual({ p50Us: 300, p99Us: 3_000 });
  expect([barFor("fcfs", 10, 200), barFor("fcfs", 20_000, 20)]).toEqual([null, null]);
});

test("known tasks of five stages take at most 5 kB each, finished ones are forgotten", () => {
  const tasks = 10_000;
  const { knownMb, leftMb } = measureMemory(tasks);
  expect((knownMb * 1e6) / tasks).toBeLessThanOrEqual(5_000);
  expect(leftMb).toBeLessThan(0.1 * knownMb);
});
