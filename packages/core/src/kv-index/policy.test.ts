import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../decide.ts";
import { evictionOrder } from "../evict/cover.ts";
import { value } from "../evict/value.ts";
import { mean } from "../reserve/mean.ts";
import { step } from "../step.ts";
import { admit, arrive, bringIn, config, fresh, policy, ready, stage } from "../testing/builders.ts";
import { history, play, worldConfig } from "../testing/history.ts";
import { createView } from "../view.ts";
import { indexFor } from "./hooks.ts";
import { compareItems } from "./item.ts";
import { allOf } from "./line.ts";
import { advanceRebuild } from "./rebuild.ts";
import { SETTINGS_DEFAULTS } from "./settings.ts";

const IDS = ["kv-index-safe", "kv-index-mean", "kv-index-nopre", "kv-index-decline", "oracle-index"];
const names = (list: readonly { readonly request: string }[]) => list.map(({ request }) => request);

describe("kv-index", () => {
  it("serves first the task that frees its remaining area soonest; age outweighs a factor of R after (H/kappa) ln R", () => {
    const state = fresh({ budgetTokens: 10_000, maxRunning: 1 });
    const two = (own: number) => ({ stages: [stage("s", own), stage("t", own)], edges: [["s", "t"]] as [string, string][] });
    arrive(state, 0, "big", two(40));
    arrive(state, 0, "small", two(4));
    for (const task of ["big", "small"]) ready(state, 0, task, { task });
    expect(names(decide(state, policy("kv-index"), 0).admit)).toEqual(["small"]);
    arrive(state, 400, "late", two(4), 400);
    step(state, { kind: "cancelled", at: 400, request: "small" });
    ready(state, 400, "late", { task: "late" });
    expect(names(decide(state, policy("kv-index"), 400).admit)).toEqual(["big"]);
  });

  it("property 9: never leaves a slot and room beside a request that fits, but for the guard's reservation", () => {
    for (const id of IDS.filter((name) => name !== "kv-index-decline"))
      fc.assert(
        fc.property(worldConfig, history, (setup, commands) => {
          play(setup, policy(id), commands, (_state, { why }) => {
            for (const one of why) if ("reason" in one) expect(one.reason).not.toBe("outranked");
          });
        }),
        { numRuns: 15, seed: 7 },
      );
  });

  it("property 10: one large request among endless small ones starts within the hold time plus the longest running call", () => {
    const setup = config({ budgetTokens: 1_000, maxRunning: 8 });
    const of = (task: number, own: number, tokens: number) =>
      ({ do: "call", task, stage: 0, prefix: 0, own, max: tokens, out: tokens, session: false }) as const;
    const commands = Array.from({ length: 300 }, (_, i) => i).flatMap((i) => [
      ...(i === 8 ? [of(3, 400, 300)] : []),
      of(1, 90, 100),
      { do: "tick" as const, times: 1, seconds: 0.5 },
    ]);
    let waited: number | null = null;
    play(setup, policy("kv-index-nopre"), commands, (state, decision) => {
      const big = [...state.waiting.values()].find((request) => request.spec.ownPromptTokens === 400);
      if (big !== undefined && names(decision.admit).includes(big.spec.id)) waited ??= decision.atSeconds - big.readySeconds;
    });
    const holdSeconds = 2 * (400 * 0.0003 + 300 * 0.05);
    expect(waited).not.toBeNull();
    expect(waited!).toBeLessThanOrEqual(holdSeconds + 4 * 0.5 + 0.5);
  });

  it("a request that has waited longer than the operator allows heads the order", () => {
    const state = fresh({ budgetTokens: 10_000, maxRunning: 1 });
    ready(state, 0, "huge", { own: 4_000, output: 2_000, max: 2_000 });
    ready(state, 5, "tiny", { own: 10, output: 10, max: 10 });
    expect(names(decide(state, policy("kv-index"), 11).admit)).toEqual(["tiny"]);
    expect(names(decide(state, policy("kv-index", { maxWaitSeconds: 10 }), 11).admit)).toEqual(["huge"]);
  });

  it("declines a further prefix of little own work while something runs, wakes for it, and never while idle", () => {
    const state = fresh({ budgetTokens: 20_000 });
    ready(state, 0, "a", { prefix: ["A", 6_600], own: 500, output: 400, max: 400 });
    const decline = policy("kv-index-decline");
    expect(names(decide(state, decline, 0).admit)).toEqual(["a"]);
    step(state, { kind: "committed", at: 0, decision: decide(state, decline, 0) });
    ready(state, 1, "b", { prefix: ["B", 6_600], own: 500, output: 400, max: 400 });
    const wait = decide(state, decline, 1);
    expect([wait.admit, wait.wakeAtSeconds]).toEqual([[], 2]);
    const hold = decide(state, policy("kv-index-decline", { fit: "over" }), 1);
    expect(hold.wakeAtSeconds).toBeCloseTo(1 + 20.15, 9);
    expect(names(decide(state, policy("kv-index"), 1).admit)).toEqual(["b"]);
    expect(names(decide(state, decline, 21.2).admit)).toEqual(["b"]);
    for (let i = 0; i < 4; i++) ready(state, 2, `b${i}`, { prefix: ["B", 6_600], own: 500, output: 400, max: 400 });
    expect(decide(state, decline, 2).admit).toHaveLength(5);
  });

  it("when H has moved, keys are made anew in a second buffer, a few per decision, and the order is that of fresh keys", () => {
    const state = fresh({ budgetTokens: 100 });
    for (let i = 0; i < 300; i++)
      ready(state, i / 10, `r${i}`, { prefix: [`p${i % 3}`, 50], own: 20 + ((i * 37) % 60), output: 20 + ((i * 53) % 300) });
    const index = indexFor(state, SETTINGS_DEFAULTS, mean);
    index.jctSeconds = 1_000;
    let steps = 0;
    for (advanceRebuild(index); index.rebuild !== null; advanceRebuild(index)) {
      steps += 1;
      if (steps === 2) ready(state, 31, "between", { prefix: ["p0", 50] });
      if (steps === 3) step(state, { kind: "cancelled", at: 31, request: "r7" });
    }
    expect(steps).toBeGreaterThan(2);
    expect(index.ratePerSecond).toBeCloseTo(2 / 1_000, 12);
    const lines = [...index.groups.values()].map(({ line }) => allOf(line));
    expect(lines.flat()).toHaveLength(300);
    for (const line of lines) expect(line).toEqual(line.toSorted(compareItems));
    for (const item of lines.flat())
      expect(item.key).toBeCloseTo(item.base - (item.arrivalSeconds - index.epochSeconds) / 500, 9);
  });
});

describe("value eviction", () => {
  it("prefixes with a host copy leave before sessions, late sessions first of all, and what is used soon stays", () => {
    const state = fresh({ budgetTokens: 20_000 });
    bringIn(state, 0, "idle", 1_000, "resident");
    bringIn(state, 0, "wanted", 1_000, "resident");
    const rounds = { stages: [stage("s", 10, { rounds: { max: 5, mean: 3 } })], edges: [] };
    for (const task of ["t1", "t2"]) {
      arrive(state, 0, task, rounds);
      ready(state, 0, `${task}-r`, { task, own: 500, max: 100, session: [task, 0] });
      admit(state, 0, `${task}-r`, 600);
    }
    const end = (task: string, at: number): void => {
      step(state, { kind: "progress", at, deltas: [{ request: `${task}-r`, prefilled: 500, decoded: 100 }] });
      step(state, { kind: "roundDone", at, request: `${task}-r`, retainedTokens: 600 });
    };
    end("t1", 1);
    end("t2", 10_000);
    ready(state, 10_000, "next", { prefix: ["wanted", 1_000] });
    indexFor(state, SETTINGS_DEFAULTS, mean);
    const view = createView(state, 10_000, mean);
    const order = evictionOrder(view, value.values(view)).map(({ id }) => id);
    expect(order).toEqual(["prefix:idle", "prefix:wanted", "session:t1", "session:t2"]);
  });
});
