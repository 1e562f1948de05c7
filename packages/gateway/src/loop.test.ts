import type { ScriptedOptions } from "@topas/engines";
import { afterEach, describe, expect, it } from "vitest";
import { GatewayError } from "./errors.ts";
import { scopedTaskId } from "./identify/frame.ts";
import type { Loop, LoopOptions } from "./loop.ts";
import { loopRig, turn, type Rig } from "./testing/loop-rig.ts";

let open: Loop | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

async function rig(engineOptions: ScriptedOptions = {}, loopOptions: Partial<LoopOptions> = {}): Promise<Rig> {
  const made = await loopRig(engineOptions, loopOptions);
  open = made.loop;
  return made;
}

const steps = async (r: Rig, n: number): Promise<void> => {
  for (let i = 0; i < n; i++) {
    await turn();
    r.engine.tick();
  }
};

const reasons = (r: Rig): string[] => [...r.ends.values()].flat().map((e) => e.reason);

describe("the loop", () => {
  it.each(["passthrough", "fcfs", "fcfs-o", "lpm", "task-fcfs-o", "topas", "topas-guarded", "topas-nopre"])(
    "%s serves everything once, with books that balance after every event",
    async (policy) => {
      const r = await rig({}, { policy });
      for (let i = 0; i < 40; i++)
        await r.send(`r${i}`, {}, { agent: `agent-${i % 5}`, prompt: 5 + (i % 7) * 10, max: 4 + (i % 5) * 6 });
      await r.drain();
      expect(reasons(r)).toEqual(Array.from({ length: 40 }, () => "length"));
      expect(r.violations).toEqual([]);
      expect(r.loop.counters()["scheduler_errors_total"]).toBe(0);
      expect(r.loop.snapshot().kv).toMatchObject({ running: 0, promised: 0, pendingFree: 0 });
    },
  );

  it("K26 the head of the queue can never run: refused at arrival, the next one is served", async () => {
    const r = await rig();
    await expect(r.send("big", {}, { prompt: 2_000 })).rejects.toMatchObject({ code: "context_length_exceeded", status: 400 });
    await r.send("small");
    await r.drain();
    expect(r.ends.get("small")?.[0]?.reason).toBe("length");
    expect(r.loop.counters()["queue_depth"]).toBe(0);
  });

  it("refuses with 429 queue_full when the queue is full, and takes calls again after", async () => {
    const r = await rig({ maxRunning: 1 }, { queueLimit: 2 });
    await r.send("a");
    await turn();
    await r.send("b");
    await r.send("c");
    const error = await r.send("d").catch((e: unknown) => e);
    expect(GatewayError.isInstance(error) && error.code).toBe("queue_full");
    await r.drain();
    await r.send("e");
    await r.drain();
    expect(reasons(r).filter((x) => x === "length")).toHaveLength(4);
  });

  it("K35 cancelled calls leave the queue at once and never reach the engine", async () => {
    const r = await rig({ maxRunning: 1 });
    await r.send("running");
    await turn();
    for (let i = 0; i < 10; i++) await r.send(`q${i}`);
    for (let i = 0; i < 9; i++) r.loop.cancel(`q${i}`);
    expect(r.loop.counters()["queue_depth"]).toBe(1);
    await r.drain();
    expect(r.admitted).toEqual(["running", "q9"]);
    expect(r.ends.get("q3")).toMatchObject([{ reason: "cancelled" }]);
  });

  it("cancel twice, cancel after the end, cancel unknown: one terminal event", async () => {
    const r = await rig();
    await r.send("a");
    r.loop.cancel("a");
    r.loop.cancel("a");
    r.loop.cancel("nobody");
    await r.drain();
    r.loop.cancel("a");
    expect(r.ends.get("a")).toHaveLength(1);
  });

  it("K09 changing the policy while calls wait loses and duplicates nothing", async () => {
    const r = await rig({ maxRunning: 2 }, { policy: "fcfs" });
    for (let i = 0; i < 44; i++) await r.send(`r${i}`, {}, { agent: `agent-${i % 3}` });
    await steps(r, 10);
    r.loop.setPolicy("topas");
    await steps(r, 10);
    r.loop.setPolicy("passthrough");
    await r.drain();
    expect(reasons(r)).toHaveLength(44);
    expect(new Set(r.admitted).size).toBe(44);
    expect(() => r.loop.setPolicy("no-such")).toThrow(/unknown policy "no-such"/);
    expect(() => r.loop.setPolicy("oracle-srpt")).toThrow(/experiments only/);
  });

  it("K40 a cancelled task refuses late calls with 410 and leaves others alone", async () => {
    const r = await rig({ maxRunning: 1 });
    const task = scopedTaskId("t", "job");
    await r.send("other");
    await turn();
    for (const id of ["a", "b"]) await r.send(id, { task, taskIsCall: false });
    expect(r.loop.finishTask("t", "job", "cancelled")).toBe(true);
    await expect(r.send("late", { task, taskIsCall: false })).rejects.toMatchObject({ code: "task_cancelled", status: 410 });
    await r.drain();
    expect(r.ends.get("a")?.[0]?.reason).toBe("cancelled");
    expect(r.ends.get("other")?.[0]?.reason).toBe("length");
  });

  it("a crash of the engine ends running calls once, keeps waiting ones, refuses new ones until it is back", async () => {
    const r = await rig({ maxRunning: 1 });
    await r.send("runs", {}, { max: 50 });
    await turn();
    await r.send("waits");
    r.engine.crash();
    await turn();
    expect(r.ends.get("runs")?.[0]).toMatchObject({ reason: "failed", error: { code: "engine_lost" } });
    await expect(r.send("new")).rejects.toMatchObject({ code: "engine_unavailable", status: 503 });
    expect(r.loop.health()).toMatchObject({ ready: false });
    r.engine.recover();
    for (let i = 0; i < 20; i++) await turn();
    await r.drain();
    expect(r.ends.get("waits")?.[0]?.reason).toBe("length");
    expect(r.violations).toEqual([]);
  });

  it("explains what a call waited for and who passed it", async () => {
    const r = await rig({ maxRunning: 1 }, { policy: "lpm" });
    await r.send("first", {}, { agent: "warm" });
    await turn();
    await r.send("cold", {}, { agent: "cold" });
    await r.send("warm", {}, { agent: "warm" });
    await r.drain();
    const why = r.loop.explain("cold");
    expect(why?.status).toBe("done");
    expect(why?.overtakenBy).toEqual(["warm"]);
    expect(why?.waitedFor.map((w) => w.reason).length).toBeGreaterThan(0);
    expect(r.loop.explain("nobody")).toBeNull();
  });

  it("continues a session: the second call of a task and agent finds its private KV", async () => {
    const r = await rig();
    const same = { task: "T", taskIsCall: false, session: "s" };
    await r.send("one", same, { prompt: 20 });
    await r.drain();
    await r.send("two", same, { prompt: 60 });
    await r.drain();
    expect(r.ends.get("two")?.[0]?.usage.cachedTokens).toBeGreaterThan(30);
    expect(r.violations).toEqual([]);
  });
});
