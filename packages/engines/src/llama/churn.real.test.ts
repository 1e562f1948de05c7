/** Random submits, cancels, preempts, evicts and loads: the books match the cache after every step, and everything ends clean. */
import { expect, test } from "vitest";
import type { EntryId } from "@topas/core";
import type { EngineCommand } from "../engine.ts";
import type { LlamaEngine } from "./engine.ts";
import type { Outcome } from "./testing/kit.ts";
import { call, freshId, nextEvent, prefixEntry, promptOf, SAMPLED, startEngine, words } from "./testing/kit.ts";

/** mulberry32 */
function random(seed: number): (below: number) => number {
  let a = seed;
  return (below) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const PREFIXES = [
  { id: "p0", tokens: 120 },
  { id: "p1", tokens: 80 },
  { id: "p2", tokens: 200 },
] as const;

class Churn {
  readonly outcomes: Outcome[] = [];
  readonly live = new Map<string, Promise<void>>();
  readonly engine: LlamaEngine;
  readonly #pick: (below: number) => number;
  readonly #commands: Promise<unknown>[] = [];
  submitted = 0;

  constructor(engine: LlamaEngine, seed: number) {
    this.engine = engine;
    this.#pick = random(seed);
    // Whoever the engine itself preempts goes on when it can.
    engine.subscribe((event) => {
      if (event.kind === "preempted" && event.by === "engine") this.apply([{ op: "resume", id: event.request }]);
    });
  }

  apply(commands: readonly EngineCommand[]): void {
    this.#commands.push(this.engine.apply(commands));
  }

  step(): void {
    const pick = this.#pick;
    const ids = [...this.live.keys()];
    const some = ids[pick(Math.max(1, ids.length))];
    switch (pick(9)) {
      case 0:
      case 1:
      case 2:
        if (ids.length < 12) this.submit();
        return;
      case 3:
        if (some !== undefined && pick(3) === 0) this.engine.cancel(some);
        return;
      case 4:
        if (some !== undefined)
          this.apply([
            { op: "preempt", id: some, keep: pick(2) === 0 ? "swap" : "recompute" },
            { op: "resume", id: some },
          ]);
        return;
      case 5:
        return this.apply([{ op: "evict", entry: this.entry(), keepHost: pick(2) === 0 }]);
      case 6:
        return this.apply([{ op: "load", entry: this.entry() }]);
      case 7:
        return this.apply([{ op: "dropHost", entry: this.entry() }]);
      default:
        return this.apply([{ op: "rank", order: [this.entry(), this.entry()] }]);
    }
  }

  entry(): EntryId {
    const n = this.#pick(6);
    return n < 3 ? prefixEntry(PREFIXES[n]?.id ?? "") : `session:s${n - 3}`;
  }

  submit(): void {
    const pick = this.#pick;
    const n = pick(4);
    const prefix = PREFIXES[n] ?? null;
    const tokens = [...(prefix === null ? [] : words(prefix.tokens, n)), ...words(1 + pick(90), 10 + pick(3))];
    const session = pick(2) === 0 ? null : `s${pick(3)}`;
    const id = freshId();
    this.submitted++;
    const done = call(this.engine, promptOf(tokens, prefix), { session, maxTokens: 1 + pick(40), sampling: SAMPLED }, id);
    const ended = done.then((outcome) => {
      this.outcomes.push(outcome);
      this.live.delete(id);
    });
    this.live.set(id, ended);
  }

  async settle(): Promise<void> {
    await Promise.all(this.live.values());
    await Promise.all(this.#commands.splice(0));
  }
}

test.each([1, 2, 3])("seed %i", async (seed) => {
  const engine = await startEngine("nano1m", {
    kvTokens: 768,
    chunkTokens: 48,
    maxSequences: 12,
    mode: "fast",
    hostTierBytes: 400_000,
  });
  try {
    const churn = new Churn(engine, seed);
    for (let i = 0; i < 250; i++) {
      churn.step();
      if (i % 5 === 0) {
        const books = await engine.inspect();
        expect(books.problem).toBeNull();
        expect(books.free + books.prefixCells + books.sessionCells + books.privateCells).toBe(books.cells);
        expect(books.hostBytes).toBeLessThanOrEqual(400_000);
      }
    }
    await churn.settle();
    expect(churn.outcomes).toHaveLength(churn.submitted);
    expect(churn.outcomes.filter((o) => !["length", "cancelled"].includes(o.end.reason))).toEqual([]);
    expect(churn.submitted).toBeGreaterThan(20);

    const books = await engine.inspect();
    expect(books).toMatchObject({ privateCells: 0, live: 0, problem: null, defects: 0 });
    expect(books.overflows).toBeGreaterThan(0);
    expect(books.sequences).toBe(books.entries.length);
    await engine.apply(books.entries.map(({ entry }) => ({ op: "evict", entry, keepHost: false }) as const));
    expect(await engine.inspect()).toMatchObject({ free: 768, sequences: 0, problem: null });
  } finally {
    await engine.close();
  }
});

test("killed in the middle: every call ends once, the next process starts empty and serves", async () => {
  const engine = await startEngine("nano1m", { kvTokens: 768, chunkTokens: 48, mode: "fast", restartDelayMs: 1 });
  try {
    const churn = new Churn(engine, 4);
    for (let i = 0; i < 60; i++) churn.step();
    await engine.inspect();
    for (let i = 0; i < 6; i++) churn.submit();
    const ready = nextEvent(engine, "ready");
    process.kill(engine.pid ?? 0, "SIGKILL");
    await churn.settle();
    expect(churn.outcomes).toHaveLength(churn.submitted);
    expect(churn.outcomes.some((o) => o.end.error?.code === "engine_lost")).toBe(true);
    await ready;
    expect(await engine.inspect()).toMatchObject({ free: 768, sequences: 0, hostBytes: 0, live: 0, problem: null });
    churn.submit();
    await churn.settle();
    expect(churn.outcomes.at(-1)?.end.reason).toBe("length");
  } finally {
    await engine.close();
  }
});
