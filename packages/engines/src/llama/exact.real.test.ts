/**
 * No decision may change a call's tokens: whatever shares, moves, interrupts or repeats a call, it generates what it would have
 * generated alone. Exact mode, one thread, an empty cache for each case; expected tokens are computed here, never stored.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { Sampling } from "../engine.ts";
import type { LlamaEngine } from "./engine.ts";
import type { LlamaEngineOptions } from "./options.ts";
import type { CallOptions } from "./testing/kit.ts";
import { call, freshId, GREEDY, prefixEntry, promptOf, SAMPLED, withEngine, words } from "./testing/kit.ts";

const MODEL = "tiny5m";
const PREFIX = { id: "agent", tokens: 150 };
const PROMPT = [...words(150, 1), ...words(90, 2)];
const TOKENS = 64;
/** Of calls that are interrupted: enough that the command always finds them running. */
const MANY = 500;
const samplings: readonly Sampling[] = [GREEDY, SAMPLED];
/** The second round of a session: everything so far, then something new. */
const next = (first: readonly number[]): number[] => [...PROMPT, ...first, ...words(30, 8)];

/** What the calls generate alone, each on an engine of its own. */
const alone = new Map<Sampling, { one: readonly number[]; two: readonly number[] }>();
beforeAll(async () => {
  for (const sampling of samplings) {
    const one = await withEngine(MODEL, {}, (engine) => plain(engine, { sampling, maxTokens: MANY }));
    const first = (alone.get(GREEDY)?.one ?? one).slice(0, 24);
    const two = await withEngine(MODEL, {}, async (engine) =>
      call(engine, promptOf(next(first)), { sampling, maxTokens: TOKENS }),
    );
    expect(one).toHaveLength(MANY);
    expect(one).not.toEqual(two.tokens);
    alone.set(sampling, { one, two: two.tokens });
  }
});

type Generate = (engine: LlamaEngine, o: CallOptions) => Promise<readonly number[]>;

const plain: Generate = async (engine, o) => (await call(engine, promptOf(PROMPT), o)).tokens;
const shared: Generate = async (engine, o) => (await call(engine, promptOf(PROMPT, PREFIX), o)).tokens;

/** Starts the call, interrupts it at its `at`-th token, and lets it go on. */
function interrupted(keep: "swap" | "recompute", at: number, between: (engine: LlamaEngine) => Promise<unknown>): Generate {
  return async (engine, o) => {
    const id = freshId();
    let preempted: Promise<unknown> = Promise.resolve();
    const onToken = (count: number): void => {
      if (count !== at) return;
      preempted = engine.apply([{ op: "preempt", id, keep }]).then(async ([outcome]) => {
        expect(outcome?.outcome).toBe("enforced");
        await between(engine);
        expect((await engine.inspect()).live).toBe(1);
        await engine.apply([{ op: "resume", id }]);
      });
    };
    const outcome = await call(engine, promptOf(PROMPT, PREFIX), { ...o, maxTokens: MANY, onToken }, id);
    await preempted;
    expect(outcome.end.usage.redoneTokens).toBeGreaterThanOrEqual(keep === "swap" ? 0 : 90);
    return outcome.tokens;
  };
}

const nothing = (): Promise<void> => Promise.resolve();
const evictAndLoad = async (engine: LlamaEngine): Promise<void> => {
  const entry = prefixEntry(PREFIX.id);
  const outcomes = await engine.apply([{ op: "evict", entry, keepHost: true }]);
  expect(outcomes[0]).toMatchObject({ outcome: "enforced", tokens: PREFIX.tokens });
  expect((await engine.apply([{ op: "load", entry }]))[0]).toMatchObject({ outcome: "enforced", tokens: PREFIX.tokens });
};

const cases: readonly (readonly [name: string, options: Partial<LlamaEngineOptions>, generate: Generate])[] = [
  ["chunks of 100", { chunkTokens: 100 }, plain],
  ["chunks of 37", { chunkTokens: 37 }, plain],
  ["a prefix filled for it", {}, shared],
  [
    "a prefix shared with a call before it",
    {},
    async (engine, o) => {
      await call(engine, promptOf([...words(150, 1), ...words(5, 3)], PREFIX), { maxTokens: 2 });
      const outcome = await call(engine, promptOf(PROMPT, PREFIX), o);
      expect(outcome.end.usage).toMatchObject({ cachedTokens: 150, computedTokens: 90 });
      return outcome.tokens;
    },
  ],
  [
    "mates decoding and prefilling in its batches",
    { chunkTokens: 64 },
    async (engine, o) => {
      // None may end before the call does: its next tokens would take cells below its earlier ones, and attention adds up in the
      // order of cells. Swaps and sessions keep that order; a cache in full churn does not.
      const ids = ["mate 1", "mate 2", "mate 3", "late mate"];
      const mates = ids.slice(0, 3).map((id, n) => call(engine, promptOf(words(40, n + 3)), { maxTokens: 800 }, id));
      const onToken = (n: number): void => {
        if (n === 5) mates.push(call(engine, promptOf(words(120, 6)), { maxTokens: 800 }, "late mate"));
      };
      const outcome = await call(engine, promptOf(PROMPT, PREFIX), { ...o, onToken });
      for (const id of ids) engine.cancel(id);
      for (const mate of await Promise.all(mates)) {
        expect(mate.end.reason).toBe("cancelled");
        expect(mate.tokens.length).toBeGreaterThan(0);
      }
      return outcome.tokens;
    },
  ],
  [
    "its prefix evicted and restored before it",
    {},
    async (engine, o) => {
      await call(engine, promptOf([...words(150, 1), ...words(5, 3)], PREFIX), { maxTokens: 2 });
      await evictAndLoad(engine);
      return shared(engine, o);
    },
  ],
  ["a suffix swap", {}, interrupted("swap", 8, nothing)],
  ["a suffix swap with its prefix evicted meanwhile", {}, interrupted("swap", 8, evictAndLoad)],
  ["a recompute", {}, interrupted("recompute", 8, nothing)],
  ["a recompute in small chunks", { chunkTokens: 20 }, interrupted("recompute", 8, nothing)],
];

describe("one call", () => {
  test.each(cases)("%s", async (_name, options, generate) => {
    const check = async (sampling: Sampling): Promise<void> => {
      const tokens = await withEngine(MODEL, options, (engine) => generate(engine, { sampling, maxTokens: TOKENS }));
      expect(tokens.length).toBeGreaterThanOrEqual(TOKENS);
      expect(tokens).toEqual(alone.get(sampling)?.one.slice(0, tokens.length));
    };
    await Promise.all(samplings.map(check));
  });

  test("a swap in the middle of its prefill", async () => {
    const tokens = await withEngine(MODEL, { chunkTokens: 10 }, async (engine) => {
      const id = freshId();
      const preempted: Promise<unknown>[] = [];
      const stop = engine.subscribe((event) => {
        if (event.kind !== "step" || preempted.length > 0 || !event.deltas.some((d) => d.request === id)) return;
        const swap = engine.apply([{ op: "preempt", id, keep: "swap" }]).then(async ([outcome]) => {
          expect(outcome?.outcome).toBe("enforced");
          expect((await engine.inspect()).privateCells).toBe(0);
          await engine.apply([{ op: "resume", id }]);
        });
        preempted.push(swap);
      });
      const outcome = await call(engine, promptOf(PROMPT), { maxTokens: 16 }, id);
      stop();
      expect(preempted).toHaveLength(1);
      await Promise.all(preempted);
      expect(outcome.end.usage).toMatchObject({ computedTokens: PROMPT.length, redoneTokens: 0 });
      return outcome.tokens;
    });
    expect(tokens).toEqual(alone.get(GREEDY)?.one.slice(0, 16));
  });
});

describe("a session", () => {
  async function rounds(
    engine: LlamaEngine,
    sampling: Sampling,
    between: (engine: LlamaEngine) => Promise<unknown>,
  ): Promise<number[]> {
    const one = await call(engine, promptOf(PROMPT, PREFIX), { sampling: GREEDY, session: "s" });
    // All but the last token, which was sampled and never fed; the prefix is not private.
    expect(one.end.usage.retainedTokens).toBe(PROMPT.length + 24 - 1 - PREFIX.tokens);
    await between(engine);
    const two = await call(engine, promptOf(next(one.tokens), PREFIX), { sampling, session: "s", maxTokens: TOKENS });
    expect(two.end.usage).toMatchObject({ cachedTokens: PROMPT.length + 24 - 1, computedTokens: 31 });
    return two.tokens;
  }

  const betweens: readonly (readonly [string, (engine: LlamaEngine) => Promise<unknown>])[] = [
    ["kept", nothing],
    [
      "demoted to the host and found there",
      async (engine) => {
        const [outcome] = await engine.apply([{ op: "evict", entry: "session:s", keepHost: true }]);
        expect(outcome).toMatchObject({ outcome: "enforced", tokens: PROMPT.length + 23 - PREFIX.tokens });
      },
    ],
    [
      "demoted with its prefix, both loaded back",
      async (engine) => {
        await engine.apply([
          { op: "evict", entry: "session:s", keepHost: true },
          { op: "evict", entry: prefixEntry(PREFIX.id), keepHost: true },
        ]);
        expect((await engine.inspect()).free).toBe(1024);
        expect((await engine.apply([{ op: "load", entry: "session:s" }]))[0]?.outcome).toBe("enforced");
      },
    ],
  ];

  test.each(betweens)("continued, %s", async (_name, between) => {
    const check = async (sampling: Sampling): Promise<void> => {
      const tokens = await withEngine(MODEL, {}, (engine) => rounds(engine, sampling, between));
      expect(tokens).toEqual(alone.get(sampling)?.two);
    };
    await Promise.all(samplings.map(check));
  });

  test("rolled back to what both rounds have in common", async () => {
    const other = [...PROMPT.slice(0, 200), ...words(40, 9)];
    const fresh = await withEngine(MODEL, {}, async (engine) => (await call(engine, promptOf(other))).tokens);
    await withEngine(MODEL, {}, async (engine) => {
      await call(engine, promptOf(PROMPT, PREFIX), { session: "s" });
      const two = await call(engine, promptOf(other, PREFIX), { session: "s" });
      expect(two.end.usage).toMatchObject({ cachedTokens: 200, computedTokens: 40 });
      expect(two.tokens).toEqual(fresh);
    });
  });
});
