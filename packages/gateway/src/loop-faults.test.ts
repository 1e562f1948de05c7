import { decide, type Decision, type Graph } from "@topas/core";
import type { ScriptedOptions } from "@topas/engines";
import { afterEach, describe, expect, it } from "vitest";
import { Loop, type LoopOptions } from "./loop.ts";
import { onTick } from "./loop/tick.ts";
import type { CallIdentity } from "./scheduler.ts";
import { loopRig, turn } from "./testing/loop-rig.ts";

let open: Loop | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** A rig whose seconds pass by hand. */
async function rig(engineOptions: ScriptedOptions = {}, loopOptions: Partial<LoopOptions> = {}) {
  const clock = { seconds: 1 };
  const told: string[] = [];
  const made = await loopRig(engineOptions, {
    nowSeconds: () => clock.seconds,
    log: (_level, message) => told.push(message),
    ...loopOptions,
  });
  open = made.loop;
  const pass = async (seconds: number): Promise<void> => {
    clock.seconds += seconds;
    onTick(made.loop);
    await turn();
  };
  return { ...made, clock, told, pass };
}

const NOTHING: Omit<Decision, "policy" | "atSeconds"> = {
  preempt: [],
  evict: [],
  load: [],
  admit: [],
  keep: [],
  why: [],
  wakeAtSeconds: null,
};

describe("a scheduler that fails", () => {
  it("a policy that throws is replaced at once, told once, counted, and can be put back", async () => {
    let dead = true;
    const r = await rig(
      {},
      {
        decide: (state, policy, now) => {
          if (dead && policy.id === "topas") throw new Error("dead");
          return decide(state, policy, now);
        },
      },
    );
    for (let i = 0; i < 10; i++) await r.send(`r${i}`);
    await r.drain();
    expect([...r.ends.values()].flat().map((e) => e.reason)).toEqual(Array.from({ length: 10 }, () => "length"));
    expect(r.loop.fallback).toMatchObject({ from: "topas", reason: "policy_failed", message: "Error: dead" });
    expect(r.loop.counters()).toMatchObject({ policy_fallbacks_total: 1, scheduler_errors_total: 1, policy_fallback: 1 });
    expect(r.told).toEqual(["policy failed; falling back to passthrough"]);
    expect(r.loop.snapshot().fallback?.from).toBe("topas");
    dead = false;
    r.loop.setPolicy("topas");
    await r.send("after");
    await r.drain();
    expect([r.loop.policyId, r.loop.fallback, r.ends.get("after")?.[0]?.reason]).toEqual(["topas", null, "length"]);
  });

  it("when nothing can decide at all, it is told once, calls end by their deadline, and the next policy serves", async () => {
    let dead = true;
    const r = await rig(
      {},
      {
        queueDeadlineSeconds: 60,
        decide: (state, policy, now) => {
          if (dead) throw new Error("dead");
          return decide(state, policy, now);
        },
      },
    );
    await r.send("a");
    for (let i = 0; i < 40; i++) await r.pass(1);
    expect(r.told).toEqual(["policy failed; falling back to passthrough", "passthrough failed too"]);
    expect(r.loop.health()).toEqual({ ready: false, reason: "no_progress" });
    await r.pass(60);
    expect(r.ends.get("a")?.[0]).toMatchObject({ reason: "failed", error: { code: "queue_timeout" } });
    await r.send("b");
    dead = false;
    r.loop.setPolicy("fcfs");
    await r.drain();
    expect(r.ends.get("b")?.[0]?.reason).toBe("length");
    expect(r.violations).toEqual([]);
  });

  it("a policy that admits nobody while nothing runs is replaced after the stall limit; an idle hour before is no stall", async () => {
    const r = await rig(
      {},
      {
        stallSeconds: 10,
        decide: (state, policy, now) =>
          policy.id === "topas" ? { ...NOTHING, policy: "topas", atSeconds: now } : decide(state, policy, now),
      },
    );
    await r.pass(3_600);
    await r.send("a");
    await r.pass(9);
    expect([r.loop.fallback, r.loop.health().ready]).toEqual([null, true]);
    await r.pass(2);
    expect(r.loop.fallback).toMatchObject({ from: "topas", reason: "no_progress" });
    await r.drain();
    expect(r.ends.get("a")?.[0]?.reason).toBe("length");
  });
});

it("K21 an engine that is stuck: not ready after the stall limit, ready with its next step, and the policy keeps its place", async () => {
  const r = await rig({}, { stallSeconds: 2 });
  expect(r.loop.health().ready).toBe(true);
  await r.send("a");
  await turn();
  await r.send("b");
  await r.pass(1.9);
  expect(r.loop.health().ready).toBe(true);
  await r.pass(0.2);
  expect([r.loop.health().reason, r.loop.fallback]).toEqual(["no_progress", null]);
  r.engine.tick();
  await turn();
  expect(r.loop.health().ready).toBe(true);
  await r.drain();
  expect([...r.ends.values()].map((list) => list.length)).toEqual([1, 1]);
});

const chain: Graph = {
  stages: [
    { id: "one", agent: "dead" },
    { id: "two", agent: "dead" },
  ],
  edges: [["one", "two"]],
};

describe("workflows that go wrong", () => {
  /** Two idle prefixes, of which a third agent's call must push one out: which stays? */
  async function keptPrefix(seconds: number): Promise<string> {
    const r = await rig({ kvTokens: 80, hostTokens: 0, maxRunning: 2 }, { taskIdleSeconds: 60, policy: "topas-guarded" });
    const graph: Graph = { stages: [{ id: "one", agent: "dead", rounds: { max: 2, mean: 2 } }], edges: [] };
    const dead: Partial<CallIdentity> = { task: "killed", taskIsCall: false, stage: "one", agent: "dead", graph };
    await r.send("dead-1", dead, { agent: "dead", prompt: 4, max: 4 });
    await r.drain();
    r.clock.seconds += 1;
    await r.send("other", {}, { agent: "other", prompt: 4, max: 4 });
    await r.drain();
    const names = new Map(r.loop.snapshot().entries.map((e, i) => [e.id, ["dead", "other"][i]!]));
    expect(names.size).toBe(2);
    await r.pass(seconds);
    await r.send("new", {}, { agent: "new", prompt: 4, max: 4 });
    await r.drain();
    expect(r.ends.get("new")?.[0]?.reason).toBe("length");
    expect(r.violations).toEqual([]);
    const kept = r.loop.snapshot().entries.flatMap((e) => (e.state === "resident" ? (names.get(e.id) ?? []) : []));
    expect(r.loop.tasks.size).toBe(seconds < 60 ? 1 : 0);
    return kept.join();
  }

  it("a workflow killed between steps keeps its next agent's prefix, until it expires: then it is worth nothing", async () => {
    expect(await keptPrefix(30)).toBe("dead");
    expect(await keptPrefix(61)).toBe("other");
  });

  it("a receipt whose stages never come holds no room, delays nobody and is forgotten", async () => {
    const r = await rig({ kvTokens: 80, hostTokens: 0 }, { taskIdleSeconds: 60 });
    r.loop.receipt({
      tenant: "t",
      task: "promised",
      taskIsCall: false,
      workflow: null,
      stage: "one",
      ageSeconds: 0,
      graph: chain,
      hints: { readyStages: ["one", "two", "nowhere"], remainingPathSeconds: 1e9 },
      final: false,
      source: "receipt",
    });
    for (let i = 0; i < 6; i++) await r.send(`r${i}`, {}, { agent: `agent-${i}`, prompt: 4, max: 4 });
    await r.drain();
    expect([...r.ends.values()].flat().map((e) => e.reason)).toEqual(Array.from({ length: 6 }, () => "length"));
    expect(r.loop.tasks.size).toBe(1);
    await r.pass(61);
    expect([r.loop.tasks.size, r.loop.state.tasks.size]).toEqual([0, 0]);
    expect(r.loop.counters()).toMatchObject({ tasks_expired_total: 1, tasks_done_total: 7 });
    expect(r.violations).toEqual([]);
  });

  it("a workflow that loops for ever under new names keeps bounded books", async () => {
    const r = await rig();
    for (let i = 0; i < 300; i++) {
      const identity = { task: "endless", taskIsCall: false, stage: `step-${i}`, session: `session-${i}` };
      await r.send(`r${i}`, identity, { prompt: 2, max: 1 });
      await r.drain();
    }
    const task = r.loop.tasks.get("endless")!;
    expect([task.calls.size, task.sessions.size, task.stages.size]).toEqual([0, 256, 256]);
    expect(r.loop.state.tasks.get("endless")!.stages.size).toBeLessThanOrEqual(257);
    expect(r.loop.counters()["calls_finished_total"]).toBe(300);
    expect(r.violations).toEqual([]);
  });

  it.each([
    ["topas-guarded", true],
    // The controls: as published, and with the oldest task first, the endless ones starve whoever comes after them.
    ["topas", false],
    ["task-fcfs-o", false],
  ])("K68 %s: six workflows that loop for ever, on two slots: one that comes late is served: %s", async (policy, served) => {
    const r = await rig({ maxRunning: 2 }, { policy, policyOptions: served ? { maxOvertakes: 20 } : {} });
    const rounds = Array.from({ length: 6 }, () => 0);
    const step = async (): Promise<void> => {
      for (const [i, round] of rounds.entries()) {
        if (r.ends.get(`loop-${i}-${round}`)?.length === 0) continue;
        rounds[i] = round + 1;
        await r.send(`loop-${i}-${round + 1}`, { task: `runaway-${i}`, taskIsCall: false, agent: "dead" }, { max: 6 });
      }
      await turn();
      r.engine.tick();
      r.clock.seconds += r.loop.description.decodeSecondsPerToken;
    };
    for (let i = 0; i < 100; i++) await step();
    await r.send("late", {}, { agent: "late", max: 6 });
    for (let i = 0; i < 300 && r.ends.get("late")!.length === 0; i++) await step();
    expect(r.ends.get("late")!.map((e) => e.reason)).toEqual(served ? ["length"] : []);
    // One pass may admit for both slots.
    if (served) expect(r.loop.explain("late")!.passes).toBeLessThanOrEqual(22);
    expect(r.violations).toEqual([]);
  });

  it("K04 an agent whose prompt changes every second: found, told once, listed, counted, and nothing of it is kept", async () => {
    const r = await rig();
    const identity = { agent: "clock", task: "T", taskIsCall: false };
    for (let i = 0; i < 20; i++) {
      await r.send(`r${i}`, identity, { agent: `09:14:${10 + i}` });
      await r.drain();
      r.clock.seconds += 1;
    }
    expect(r.told).toEqual(["volatile prefix"]);
    expect(r.loop.counters()["volatile_prefix_total"]).toBe(19);
    expect(r.loop.snapshot().volatilePrefixes).toMatchObject([{ agent: "clock", calls: 19 }]);
    expect(r.loop.snapshot().entries.filter((e) => e.id.startsWith("prefix:"))).toHaveLength(1);
    expect(r.violations).toEqual([]);
  });

  it("K04 a clock at the end: the calls share what they have in common", async () => {
    const r = await rig();
    const cached: (number | null | undefined)[] = [];
    for (let i = 0; i < 6; i++) {
      await r.send(`r${i}`, { agent: "clock" }, { tail: `now 09:14:${10 + i}` });
      await r.drain();
      cached.push(r.ends.get(`r${i}`)?.[0]?.usage.cachedTokens);
    }
    expect(cached.slice(0, 2)).toEqual([0, 0]);
    for (const tokens of cached.slice(2)) expect(tokens).toBeGreaterThanOrEqual(32);
    expect(r.loop.snapshot().volatilePrefixes).toMatchObject([{ agent: "clock", calls: 5 }]);
    expect(r.violations).toEqual([]);
  });

  it("an agent with two prompts that come back keeps both, whatever they have in common", async () => {
    const r = await rig();
    const cached: (number | null | undefined)[] = [];
    for (let i = 0; i < 8; i++) {
      await r.send(`r${i}`, { agent: "two-faced" }, { agent: i % 2 === 0 ? "left" : "right" });
      await r.drain();
      cached.push(r.ends.get(`r${i}`)?.[0]?.usage.cachedTokens);
    }
    for (const tokens of cached.slice(4)) expect(tokens).toBeGreaterThanOrEqual(31);
    expect(r.loop.counters()["volatile_prefix_total"]).toBe(1);
    expect(r.loop.snapshot().volatilePrefixes).toEqual([]);
    expect(r.violations).toEqual([]);
  });
});
