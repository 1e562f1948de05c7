/** Commands on entries and calls, and what the engine does by itself when it runs short. Cells are counted exactly throughout. */
import type { EntryId } from "@topas/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EngineCommand, EngineEvent } from "../engine.ts";
import type { LlamaEngine } from "./engine.ts";
import type { Inspection } from "./protocol.ts";
import { call, freshId, nextEvent, prefixEntry, promptOf, startEngine, words } from "./testing/kit.ts";

let engine: LlamaEngine;
let events: EngineEvent[];
const open = async (options: Parameters<typeof startEngine>[1]): Promise<void> => {
  engine = await startEngine("nano1m", { mode: "fast", ...options });
  events = [];
  engine.subscribe((event) => event.kind !== "step" && events.push(event));
};
beforeEach(() => open({}));
afterEach(() => engine.close());

const one = async (command: EngineCommand) => (await engine.apply([command]))[0];
const cells = async (): Promise<Pick<Inspection, "free" | "prefixCells" | "sessionCells" | "privateCells">> => {
  const { free, prefixCells, sessionCells, privateCells } = await engine.inspect();
  return { free, prefixCells, sessionCells, privateCells };
};
/** Makes a prefix resident by a call that leaves nothing else. */
const fill = (id: string, tokens: number, salt: number) =>
  call(engine, promptOf([...words(tokens, salt), ...words(3, 50)], { id, tokens }), { maxTokens: 1 });
const session = (name: string, prefix: string, tokens: number, salt: number) =>
  call(engine, promptOf([...words(tokens, salt), ...words(20, 60)], { id: prefix, tokens }), { maxTokens: 1, session: name });
const named = (kind: EngineEvent["kind"]): EntryId[] => events.flatMap((e) => (e.kind === kind && "entry" in e ? [e.entry] : []));

describe("a prefix in use", () => {
  test("keeps its cells when evicted, is taken back for nothing, and goes with its last user", async () => {
    await fill("p", 100, 1);
    await session("s", "p", 100, 1);
    expect(await cells()).toEqual({ free: 904, prefixCells: 100, sessionCells: 20, privateCells: 0 });
    expect(await one({ op: "evict", entry: prefixEntry("p"), keepHost: false })).toMatchObject({
      outcome: "enforced",
      tokens: 0,
    });
    expect(await cells()).toEqual({ free: 904, prefixCells: 100, sessionCells: 20, privateCells: 0 });

    expect(await one({ op: "load", entry: prefixEntry("p") })).toMatchObject({ outcome: "enforced", tokens: 100, bytes: 0 });
    expect(events.at(-1)).toMatchObject({ kind: "loaded", computedTokens: 0, bytes: 0 });
    expect((await cells()).free).toBe(904);

    await one({ op: "evict", entry: prefixEntry("p"), keepHost: false });
    expect(await one({ op: "evict", entry: "session:s", keepHost: false })).toMatchObject({ outcome: "enforced", tokens: 120 });
    expect((await cells()).free).toBe(1024);
  });

  test("cannot be evicted while it loads", async () => {
    await engine.close();
    await open({ chunkTokens: 4 });
    const loading = fill("p", 400, 1);
    while ((await engine.inspect()).entries[0]?.state !== "loading");
    expect(await one({ op: "evict", entry: prefixEntry("p"), keepHost: true })).toMatchObject({ outcome: "unsupported" });
    expect((await loading).end.reason).toBe("length");
  });

  test("stops loading when the only call for it is cancelled", async () => {
    await engine.close();
    await open({ chunkTokens: 4 });
    const id = freshId();
    const loading = call(engine, promptOf(words(450, 1), { id: "p", tokens: 400 }), {}, id);
    while ((await engine.inspect()).prefixCells === 0);
    engine.cancel(id);
    expect((await loading).end).toMatchObject({ reason: "cancelled", usage: { completionTokens: 0 } });
    expect(await cells()).toEqual({ free: 1024, prefixCells: 0, sessionCells: 0, privateCells: 0 });
  });
});

describe("when cells run out", () => {
  test("entries go before calls: unnamed ones least recently used first, then in rank order", async () => {
    await fill("a", 200, 1);
    await fill("b", 200, 2);
    await fill("c", 200, 3);
    await fill("d", 200, 4);
    await fill("a", 200, 1);
    await one({ op: "rank", order: [prefixEntry("d"), prefixEntry("b")] });
    events.length = 0;
    await call(engine, promptOf(words(900, 9)), { maxTokens: 1 });
    expect(named("evicted")).toEqual(["prefix:c", "prefix:a", "prefix:d", "prefix:b"]);
    expect(events).toMatchObject(events.map(() => ({ keptOnHost: true })));
    const { overflows, hostEntries } = await engine.inspect();
    expect(overflows).toBe(0);
    expect(hostEntries).toHaveLength(4);
  });

  test("a prefix that only sessions use goes after them, and a session costs its suffix only", async () => {
    await session("s", "p", 300, 1);
    events.length = 0;
    await call(engine, promptOf(words(1000, 9)), { maxTokens: 1 });
    expect(events).toMatchObject([
      { kind: "evicted", entry: "session:s", tokens: 20 },
      { kind: "evicted", entry: "prefix:p", tokens: 300 },
    ]);
    const [suffix, prefix] = events.map((e) => (e.kind === "evicted" ? e.bytes : 0));
    expect(prefix).toBeGreaterThan(10 * (suffix ?? 0));
    // The next round finds both on the host.
    const next = [...words(300, 1), ...words(20, 60), ...words(10, 70)];
    const again = await call(engine, promptOf(next, { id: "p", tokens: 300 }), { maxTokens: 1, session: "s" });
    expect(again.end.usage).toMatchObject({ cachedTokens: 320, computedTokens: 10 });
  });

  test("the call that loses least gives way, says so, and goes on when told", async () => {
    const long = call(engine, promptOf(words(400, 1)), { maxTokens: 400 });
    const preempted = nextEvent(engine, "preempted");
    const id = freshId();
    const late = call(engine, promptOf(words(300, 2)), { maxTokens: 300 }, id);
    expect(await preempted).toMatchObject({ request: id, by: "engine" });
    expect((await preempted).keptTokens).toBeGreaterThanOrEqual(300);
    expect((await long).end.reason).toBe("length");
    expect(await engine.inspect()).toMatchObject({ live: 1, privateCells: 0, overflows: 1, defects: 0 });
    expect(await one({ op: "resume", id })).toMatchObject({ outcome: "enforced" });
    expect((await late).end).toMatchObject({ reason: "length", usage: { completionTokens: 300, redoneTokens: 0 } });
  });

  test("a load that can never fit is answered noRoom, and evicts nothing for it", async () => {
    const prompt = promptOf([...words(700, 1), 400], { id: "big", tokens: 700 });
    await call(engine, prompt, { maxTokens: 1 });
    await one({ op: "evict", entry: prefixEntry("big"), keepHost: true });
    await fill("small", 100, 2);
    const id = freshId();
    const running = call(engine, promptOf(words(500, 3)), { maxTokens: 500 }, id);
    while ((await cells()).privateCells < 500);
    expect(await one({ op: "load", entry: prefixEntry("big") })).toMatchObject({ outcome: "noRoom", tokens: 0 });
    expect((await engine.inspect()).entries.map((e) => e.entry)).toEqual(["prefix:small"]);
    engine.cancel(id);
    await running;
    expect(await one({ op: "load", entry: prefixEntry("big") })).toMatchObject({ outcome: "enforced", tokens: 700 });
  });
});

describe("the host tier", () => {
  test("drops old copies at its cap and says which", async () => {
    await engine.close();
    // nano1m: 1,036 bytes a token.
    await open({ hostTierBytes: 250_000 });
    for (const [id, salt] of [
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ] as const) {
      await fill(id, 100, salt);
      expect(await one({ op: "evict", entry: prefixEntry(id), keepHost: true })).toMatchObject({
        outcome: "enforced",
        tokens: 100,
      });
    }
    expect(named("hostDropped")).toEqual(["prefix:a"]);
    expect(await one({ op: "dropHost", entry: prefixEntry("b") })).toMatchObject({ outcome: "enforced" });
    expect(await one({ op: "dropHost", entry: prefixEntry("b") })).toMatchObject({ outcome: "unknownId" });
    expect((await engine.inspect()).hostEntries).toEqual(["prefix:c"]);
  });

  test("none: eviction drops, a swap becomes a recompute", async () => {
    await engine.close();
    await open({ hostTierBytes: 0 });
    expect(engine.describe()).toMatchObject({ hostTier: false, redo: "reprefill" });
    await fill("a", 100, 1);
    await one({ op: "evict", entry: prefixEntry("a"), keepHost: true });
    expect(events.at(-1)).toMatchObject({ kind: "evicted", keptOnHost: false, bytes: 0 });
    const id = freshId();
    const onToken = (n: number): void => {
      if (n === 2)
        void engine.apply([
          { op: "preempt", id, keep: "swap" },
          { op: "resume", id },
        ]);
    };
    const { end } = await call(engine, promptOf(words(50, 1)), { maxTokens: 900, onToken }, id);
    expect(events.find((e) => e.kind === "preempted")).toMatchObject({ by: "us", keptTokens: 0, bytes: 0 });
    expect(end.usage.redoneTokens).toBeGreaterThan(50);
    expect(end.usage.completionTokens).toBe(900);
  });
});

test("commands for what is not there", async () => {
  const outcomes = await engine.apply([
    { op: "preempt", id: "nobody", keep: "swap" },
    { op: "resume", id: "nobody" },
    { op: "evict", entry: "prefix:none", keepHost: true },
    { op: "load", entry: "prefix:none" },
    { op: "load", entry: "session:none" },
    { op: "dropHost", entry: "prefix:none" },
  ]);
  expect(outcomes.map((o) => o.outcome)).toEqual(Array(6).fill("unknownId"));
  engine.cancel("nobody");
});

test("a call of a session whose prefix has changed starts anew", async () => {
  await session("s", "p", 100, 1);
  events.length = 0;
  const { end } = await session("s", "q", 100, 2);
  expect(events[0]).toMatchObject({ kind: "evicted", entry: "session:s", keptOnHost: false });
  expect(end.usage).toMatchObject({ cachedTokens: 0, retainedTokens: 20 });
});

test("more calls than sequence ids wait their turn", async () => {
  await engine.close();
  await open({ maxSequences: 3 });
  await fill("p", 50, 1);
  const calls = Array.from({ length: 8 }, (_, n) =>
    call(engine, promptOf([...words(50, 1), ...words(5, n)], { id: "p", tokens: 50 })),
  );
  for (const { end } of await Promise.all(calls)) expect(end.reason).toBe("length");
  expect(await engine.inspect()).toMatchObject({ sequences: 1, defects: 0, overflows: 0 });
});
