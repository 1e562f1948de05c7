import type { ScriptedOptions } from "@topas/engines";
import { afterEach, describe, expect, it } from "vitest";
import type { Loop, LoopOptions } from "./loop.ts";
import type { CallIdentity } from "./scheduler.ts";
import { loopRig, turn } from "./testing/loop-rig.ts";

let open: Loop | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

async function rig(engineOptions: ScriptedOptions = {}, loopOptions: Partial<LoopOptions> = {}) {
  const made = await loopRig(engineOptions, loopOptions);
  const { engine, loop, ends, violations } = made;
  open = loop;
  const send = (id: string, agent: string, max: number, identity: Partial<CallIdentity> = {}): Promise<void> =>
    made.send(id, identity, { agent, max });
  const drain = async (most = 3_000): Promise<void> => {
    await made.drain(most);
    for (let i = 0; i < 3; i++) {
      await turn();
      engine.tick();
    }
  };
  const idle = (): void => {
    expect(violations).toEqual([]);
    expect(loop.snapshot().kv).toMatchObject({ running: 0, promised: 0, pendingFree: 0 });
    expect(loop.counters()["queue_depth"]).toBe(0);
  };
  return { engine, loop, ends, send, drain, idle };
}

describe("fault cases in the loop", () => {
  it("K36 cancel at every possible moment: one end per call, nothing held", async () => {
    const r = await rig();
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const due = new Map<number, string[]>();
    for (let i = 0; i < 400; i++) {
      await r.send(`r${i}`, `agent-${i % 5}`, 1 + random(6));
      const when = i + random(40);
      due.set(when, [...(due.get(when) ?? []), `r${i}`]);
      if (random(3) > 0) await turn();
      for (const id of due.get(i) ?? []) r.loop.cancel(id);
      if (random(4) > 0) r.engine.tick();
    }
    await r.drain();
    expect([...r.ends.values()].map((list) => list.length)).toEqual(Array.from({ length: 400 }, () => 1));
    expect(new Set([...r.ends.values()].map(([end]) => end!.reason))).toEqual(new Set(["cancelled", "length"]));
    r.idle();
  });

  it.each([0, 1, 2, 3, 4, 5, 6])("K38 abort in the very tick of the last token, %d steps in: exactly one end", async (steps) => {
    const r = await rig({ maxRunning: 1 });
    await r.send("a", "coder", 4);
    for (let i = 0; i < steps; i++) {
      await turn();
      r.engine.tick();
    }
    r.loop.cancel("a");
    r.engine.tick();
    await r.drain();
    expect(r.ends.get("a")).toHaveLength(1);
    r.idle();
  });

  it("K61 load counts at dispatch, before any token, and is given back once", async () => {
    const r = await rig();
    await r.send("a", "coder", 8);
    await turn();
    const promised = r.loop.snapshot().kv.promised;
    expect(promised).toBeGreaterThan(0);
    r.loop.cancel("a");
    r.loop.cancel("a");
    await r.drain();
    r.idle();
  });

  it("K70 the parent waits for its child: an open stage holds no slot, the child is admitted at once", async () => {
    const r = await rig({ maxRunning: 1 });
    const parent = { task: "P", taskIsCall: false, session: "lead" };
    await r.send("lead", "leader", 4, parent);
    await r.drain();
    await r.send("child", "coder", 4);
    await turn();
    expect(r.loop.running.size).toBe(1);
    await r.send("lead again", "leader", 4, parent);
    await r.drain();
    expect([...r.ends.values()].map(([end]) => end?.reason)).toEqual(["length", "length", "length"]);
  });

  it("K14 the retraction after the last allowed one ends the call with its reason, once; others go on", async () => {
    // Receipts that promise far less than is generated: admission believes them, the engine runs short of cells.
    const r = await rig({ kvTokens: 220, reserve: false, hostTokens: 0 }, { maxRetractions: 1, policy: "fcfs-o" });
    const hints = { expectedOutputTokens: 8 };
    for (let i = 0; i < 6; i++) await r.send(`r${i}`, "coder", 120, { hints });
    await r.drain(20_000);
    const ends = [...r.ends.values()];
    expect(ends.map((list) => list.length)).toEqual([1, 1, 1, 1, 1, 1]);
    for (const [end] of ends) expect(["length", "failed"]).toContain(end!.reason);
    const ended = ends.filter(([end]) => end!.reason === "failed");
    expect(ended.length).toBeGreaterThan(0);
    expect(ended.length).toBeLessThan(6);
    for (const [end] of ended) expect(end!.error?.code).toBe("retraction_limit");
    r.idle();
  });
});
