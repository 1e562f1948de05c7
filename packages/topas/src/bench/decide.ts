import { getHeapStatistics } from "node:v8";
import { createPolicy, decide, type Policy } from "@topas/core";
import { Traffic } from "./traffic.ts";

export interface DecideRow {
  readonly policy: string;
  readonly waiting: number;
  readonly running: number;
  readonly decisions: number;
  /** Share of decisions that did something. */
  readonly acted: number;
  readonly p50Us: number;
  readonly p95Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  /** Median heap growth over one decision; decisions during which memory was collected are left out. */
  readonly bytesPerDecision: number;
}

const LEAST = 30;
const MOST = 4_000;
const WARM = 100;

/** Times decisions on contended states, one finish and its arrivals between two of them, for about `seconds`. */
export function measureDecide(id: string, waiting: number, running: number, seconds: number): DecideRow {
  const policy = createPolicy(id);
  const filler = createPolicy("fcfs-o");
  if (policy === null || filler === null) throw new Error(`unknown policy ${id}`);
  const traffic = new Traffic({ waiting, running, agents: 30, seed: 7 });
  traffic.refill(running);
  for (let i = 0; i < 40; i++) {
    traffic.advance();
    traffic.refill(Math.min(waiting, 2 * running));
    traffic.carryOut(decide(traffic.state, filler, traffic.now));
  }
  traffic.refill();
  const start = performance.now();
  const [warmUntil, end] = [start + seconds * 300, start + seconds * 1_000];
  for (let i = 0; i < WARM && performance.now() < warmUntil; i++) one(traffic, policy);
  const times: number[] = [];
  const bytes: number[] = [];
  let acted = 0;
  while (times.length < MOST && (times.length < LEAST || performance.now() < end)) {
    const { us, grown, acts } = one(traffic, policy);
    times.push(us);
    if (grown >= 0) bytes.push(grown);
    if (acts) acted += 1;
  }
  times.sort((a, b) => a - b);
  bytes.sort((a, b) => a - b);
  const at = (q: number): number => times[Math.max(0, Math.ceil(q * times.length) - 1)]!;
  return {
    policy: id,
    waiting,
    running,
    decisions: times.length,
    acted: acted / times.length,
    p50Us: at(0.5),
    p95Us: at(0.95),
    p99Us: at(0.99),
    maxUs: at(1),
    bytesPerDecision: bytes[bytes.length >> 1] ?? 0,
  };
}

function one(traffic: Traffic, policy: Policy): { us: number; grown: number; acts: boolean } {
  traffic.advance();
  traffic.refill();
  const before = getHeapStatistics().used_heap_size;
  const start = performance.now();
  const decision = decide(traffic.state, policy, traffic.now);
  const us = (performance.now() - start) * 1_000;
  const grown = getHeapStatistics().used_heap_size - before;
  traffic.carryOut(decision);
  return { us, grown, acts: decision.admit.length + decision.preempt.length > 0 };
}
