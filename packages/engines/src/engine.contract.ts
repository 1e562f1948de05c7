/**
 * What every engine owes the scheduler. Each implementation's `*.contract.test.ts` calls {@link engineContract} with a factory; what an
 * engine cannot do is named, and shows in the name of the skipped test. Counts only, never times.
 */
import type { EntryId } from "@topas/core";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { CallEnd, Engine, EngineCall, EngineCommand, EngineEvent, PreparedPrompt, PromptInput } from "./engine.ts";
import type { Heard } from "./testing/listen.ts";
import { listen } from "./testing/listen.ts";

/** Absent: the engine can. Else why not. */
export interface ContractLimits {
  readonly residency?: string;
  readonly sessions?: string;
  /** Output is a function of the prompt. */
  readonly repeatable?: string;
}

/** Builds a fresh, not yet started engine with room for at least 1,500 tokens; `dispose` releases what stands behind it. */
export type EngineFactory = () => Promise<{ readonly engine: Engine; readonly dispose?: () => Promise<void> }>;

const words = (count: number, letter: string): string => Array.from({ length: count }, (_, n) => `${letter}${n % 10}`).join(" ");
const chat = (agent: string, ask: string, tenant = "t"): PromptInput => ({
  kind: "chat",
  tenant,
  messages: [
    { role: "system", content: words(60, agent) },
    { role: "user", content: ask },
  ],
});

function callOf(id: string, prompt: PreparedPrompt, input: PromptInput, maxTokens: number, session: string | null): EngineCall {
  const messages = input.kind === "chat" ? input.messages : input.prompt;
  const body = Buffer.from(JSON.stringify({ messages, max_tokens: maxTokens, stream: true }));
  const http = { path: "/v1/chat/completions", headers: { "content-type": "application/json" }, body };
  const sampling = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: true };
  return { id, prompt, maxTokens, sampling, stop: [], session, http };
}

export function engineContract(name: string, factory: EngineFactory, limits: ContractLimits = {}): void {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0).toReversed()) await clean();
  });

  let made = 0;
  async function open(cleanup: (close: () => Promise<void>) => void) {
    const { engine, dispose } = await factory();
    cleanup(async () => {
      await engine.close();
      await dispose?.();
    });
    await engine.start();
    const events: EngineEvent[] = [];
    engine.subscribe((event) => events.push(event));
    const prepared = async (input: PromptInput, maxTokens = 8, session: string | null = null): Promise<EngineCall> =>
      callOf(`call-${(made += 1)}`, await engine.prepare(input), input, maxTokens, session);
    const run = (call: EngineCall): Heard => {
      const heard = listen();
      engine.submit(call, heard.sink);
      return heard;
    };
    const enforce = async (...commands: EngineCommand[]): Promise<void> => {
      for (const outcome of await engine.apply(commands)) expect(outcome).toMatchObject({ outcome: "enforced" });
    };
    return { engine, events, prepared, run, enforce };
  }
  /** An engine of the test's own. */
  const setup = () => open((close) => void cleanups.push(close));
  /** One engine for all tests that leave it idle and do not mind what it holds. */
  let common: ReturnType<typeof open> | null = null;
  let closeCommon = (): Promise<void> => Promise.resolve();
  const shared = () => (common ??= open((close) => void (closeCommon = close)));
  afterAll(() => closeCommon());

  const prefixOf = (call: EngineCall): EntryId => {
    if (call.prompt.prefix === null) throw new Error("the contract's prompts have a prefix");
    return `prefix:${call.prompt.prefix.id}`;
  };
  const checkUsage = ({ usage }: CallEnd): void => {
    const { promptTokens, cachedTokens, completionTokens, computedTokens, redoneTokens, retainedTokens } = usage;
    for (const count of [promptTokens, cachedTokens, completionTokens, computedTokens, redoneTokens, retainedTokens]) {
      if (count !== null) expect(count).toBeGreaterThanOrEqual(0);
    }
    if (cachedTokens !== null && promptTokens !== null) expect(cachedTokens).toBeLessThanOrEqual(promptTokens);
  };
  const unless = (reason: string | undefined, title: string, run: () => Promise<void>): void =>
    test.skipIf(reason !== undefined)(reason === undefined ? title : `${title} (skipped: ${reason})`, run);

  describe(`engine contract: ${name}`, () => {
    test("start resolves to the description; unknown is null, not zero", async () => {
      const { engine } = await shared();
      const description = engine.describe();
      expect(await engine.start()).toEqual(description);
      for (const size of [description.kvBudgetTokens, description.maxRunning, description.contextTokens]) {
        if (size !== null) expect(size).toBeGreaterThan(0);
      }
      expect(description.prefillSecondsPerToken).toBeGreaterThan(0);
      expect(description.decodeSecondsPerToken).toBeGreaterThan(0);
    });

    test("a call ends exactly once, after its output, with a usage that fits together", async () => {
      const { engine, prepared, run } = await shared();
      const heard = run(await prepared(chat("a", "hello"), 8));
      const end = await heard.end;
      expect(end.reason).toBe("length");
      checkUsage(end);
      expect(end.usage.completionTokens).toBe(8);
      expect(heard.log.at(-1)).toBe("end");
      expect(heard.log.filter((entry) => entry === "head")).toHaveLength(engine.describe().wire === "raw" ? 1 : 0);
      if (engine.describe().wire === "raw") expect(heard.log[0]).toBe("head");
      expect(heard.bytes().length).toBeGreaterThan(0);
    });

    test("many at once: one end each", async () => {
      const { prepared, run } = await shared();
      const heard = [];
      for (let n = 0; n < 6; n++) heard.push(run(await prepared(chat("ab"[n % 2]!, words(n + 1, "u")), 4 + n)));
      const ends = await Promise.all(heard.map(({ end }) => end));
      expect(ends.map(({ reason, usage }) => [reason, usage.completionTokens])).toEqual(ends.map((_, n) => ["length", 4 + n]));
      for (const each of heard) expect(each.ends).toHaveLength(1);
    });

    test("cancelled before it began and in mid-stream: one end, nothing after it, others go on", async () => {
      const { engine, prepared, run } = await shared();
      const [first, second] = [await prepared(chat("a", "one"), 300), await prepared(chat("a", "two"), 300)];
      const early = run(first);
      engine.cancel(first.id);
      const late = run(second);
      const other = run(await prepared(chat("a", "three"), 8));
      await late.after(2);
      engine.cancel(second.id);
      engine.cancel(second.id);
      engine.cancel("nobody");
      expect((await early.end).reason).toBe("cancelled");
      const end = await late.end;
      expect(end.reason).toBe("cancelled");
      checkUsage(end);
      expect((await other.end).reason).toBe("length");
      const again = run(await prepared(chat("a", "four"), 8));
      expect((await again.end).reason).toBe("length");
      for (const { ends, log } of [early, late]) {
        expect(ends).toHaveLength(1);
        expect(log.at(-1)).toBe("end");
      }
    });

    test("an id in flight is refused, a used one is free again", async () => {
      const { prepared, run } = await shared();
      const call = await prepared(chat("a", "x"), 200);
      const first = run(call);
      const twin = run(call);
      expect(await twin.end).toMatchObject({ reason: "refused", error: { code: "duplicate_request_id", status: 409 } });
      expect((await first.end).reason).toBe("length");
      expect((await run({ ...call, maxTokens: 1 }).end).reason).toBe("length");
    });

    test("prepare is deterministic; its prefix depends on tenant and system part only", async () => {
      const { engine } = await shared();
      const ids = async (input: PromptInput): Promise<string | undefined> => (await engine.prepare(input)).prefix?.id;
      const one = await engine.prepare(chat("a", "x"));
      expect(await engine.prepare(chat("a", "x"))).toEqual(one);
      expect(one.promptTokens).toBe(one.tokens?.length ?? one.promptTokens);
      expect(one.prefix?.tokens).toBeGreaterThan(0);
      expect(one.prefix?.tokens).toBeLessThan(one.promptTokens);
      expect(await ids(chat("a", "another question"))).toBe(one.prefix?.id);
      expect(await ids(chat("a", "x", "u"))).not.toBe(one.prefix?.id);
      expect(await ids(chat("b", "x"))).not.toBe(one.prefix?.id);
    });

    test("a second call with the same prefix reports it as cached, the first does not", async () => {
      const { prepared, run } = await setup();
      const first = await run(await prepared(chat("a", "one"))).end;
      const call = await prepared(chat("a", "two"));
      const second = await run(call).end;
      expect(first.usage.cachedTokens).toBe(0);
      expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(call.prompt.exact ? (call.prompt.prefix?.tokens ?? 0) : 1);
      checkUsage(second);
    });

    test("one outcome a command; what the description calls unsupported is, unknown ids are said to be", async () => {
      const { engine } = await shared();
      const { keep, evict, load, preempt } = engine.describe();
      const commands = [
        { op: "preempt", id: "nobody", keep: "swap" },
        { op: "resume", id: "nobody" },
        { op: "evict", entry: "prefix:none", keepHost: true },
        { op: "load", entry: "prefix:none" },
        { op: "dropHost", entry: "prefix:none" },
        { op: "rank", order: ["prefix:none"] },
      ] as const satisfies readonly EngineCommand[];
      const outcomes = await engine.apply(commands);
      const expected = [preempt, preempt, evict, load, evict].map((fidelity) =>
        fidelity === "enforced" ? "unknownId" : fidelity,
      );
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([...expected, keep]);
      for (const { tokens, bytes, ms } of outcomes) expect([tokens >= 0, bytes >= 0, ms >= 0]).toEqual([true, true, true]);
      expect(await engine.apply([])).toEqual([]);
    });

    unless(limits.residency, "events conserve tokens", async () => {
      const { engine, events, prepared, run } = await setup();
      const calls = [
        await prepared(chat("a", "one")),
        await prepared(chat("a", "two"), 5),
        await prepared(chat("b", "three"), 3),
      ];
      const ends = await Promise.all(calls.map((call) => run(call).end));
      await engine.apply([{ op: "rank", order: [] }]);
      const steps = events.filter((event) => event.kind === "step");
      for (const [n, { id }] of calls.entries()) {
        const deltas = steps.flatMap((step) => step.deltas.filter(({ request }) => request === id));
        const sum = (key: "prefilled" | "decoded"): number => deltas.reduce((total, delta) => total + delta[key], 0);
        const { prompt } = calls[n]!;
        const own = prompt.promptTokens - (prompt.prefix?.tokens ?? 0);
        expect([sum("prefilled"), sum("decoded")]).toEqual([own, ends[n]?.usage.completionTokens]);
      }
      // Every computed prompt token is somebody's own, in a step, or a prefix's, in its load.
      const own = steps.flatMap((step) => step.deltas).reduce((total, delta) => total + delta.prefilled, 0);
      const filled = events.reduce((total, event) => total + (event.kind === "loaded" ? event.computedTokens : 0), 0);
      expect(own + filled).toBe(ends.reduce((total, end) => total + (end.usage.computedTokens ?? 0), 0));
      const budget = engine.describe().kvBudgetTokens ?? 0;
      for (const { freeTokens } of steps) expect([freeTokens >= 0, freeTokens <= budget]).toEqual([true, true]);
      expect(events.filter((event) => event.kind === "loaded")).toHaveLength(2);
      expect(events.filter((event) => event.kind === "preempted" && event.by === "engine")).toEqual([]);
    });

    unless(limits.residency, "evicted and loaded from the host: cached again, same output", async () => {
      const { engine, events, prepared, run, enforce } = await setup();
      const before = run(await prepared(chat("a", "one")));
      await before.end;
      const call = await prepared(chat("a", "one"));
      const entry = prefixOf(call);
      await enforce({ op: "evict", entry, keepHost: true }, { op: "load", entry });
      const loaded = events.findLast((event) => event.kind === "loaded");
      expect(loaded).toMatchObject({ entry, tokens: call.prompt.prefix?.tokens, computedTokens: 0 });
      expect(events.findLast((event) => event.kind === "evicted")).toMatchObject({ entry, keptOnHost: true });
      const after = run(call);
      expect((await after.end).usage.cachedTokens).toBe(call.prompt.prefix?.tokens);
      expect(after.bytes().equals(before.bytes())).toBe(true);
      await enforce({ op: "evict", entry, keepHost: false });
      expect(await engine.apply([{ op: "dropHost", entry }])).toMatchObject([{ outcome: "unknownId" }]);
    });

    unless(limits.residency, "loaded ahead of its first call, by computing it: the call finds it", async () => {
      const { events, prepared, run, enforce } = await setup();
      const call = await prepared(chat("a", "one"));
      await enforce({ op: "load", entry: prefixOf(call) });
      const tokens = call.prompt.prefix?.tokens;
      expect(events.findLast((event) => event.kind === "loaded")).toMatchObject({ tokens, computedTokens: tokens });
      expect((await run(call).end).usage.cachedTokens).toBe(tokens);
    });

    for (const keep of ["swap", "recompute"] as const) {
      unless(limits.residency ?? limits.repeatable, `preempted (${keep}) and resumed: same output, honest counts`, async () => {
        const { events, prepared, run, enforce } = await setup();
        const plain = run(await prepared(chat("a", "one"), 240));
        await plain.end;
        const call = await prepared(chat("a", "one"), 240);
        const heard = run(call);
        await heard.after(3);
        await enforce({ op: "preempt", id: call.id, keep });
        const seen = heard.tokens.length;
        expect((await run(await prepared(chat("a", "two"))).end).reason).toBe("length");
        expect(heard.tokens).toHaveLength(seen);
        expect(events.find((event) => event.kind === "preempted")).toMatchObject({ request: call.id, by: "us" });
        await enforce({ op: "resume", id: call.id });
        const end = await heard.end;
        expect(end).toMatchObject({ reason: "length", usage: { completionTokens: 240 } });
        expect(heard.bytes().equals(plain.bytes())).toBe(true);
        expect((end.usage.redoneTokens ?? 0) > 0).toBe(keep === "recompute");
      });
    }

    unless(limits.sessions, "a session's next call continues in its cells", async () => {
      const { engine, prepared, run } = await setup();
      const first = await prepared(chat("a", "one"), 8, "s");
      const heard = run(first);
      const { retainedTokens } = (await heard.end).usage;
      expect(retainedTokens).toBeGreaterThan(0);
      const history = [...(first.prompt.tokens ?? []), ...heard.tokens, ...(first.prompt.tokens ?? []).slice(-4)];
      const tokens = first.prompt.prefix?.tokens ?? 0;
      const text: PromptInput = { kind: "text", tenant: "t", prompt: history, prefixTokens: tokens };
      const next = await prepared(text, 4, "s");
      expect(next.prompt.prefix).toEqual(first.prompt.prefix);
      const end = await run(next).end;
      expect(end.usage.cachedTokens).toBe(tokens + retainedTokens);
      const entry = "session:s";
      expect(await engine.apply([{ op: "evict", entry, keepHost: false }])).toMatchObject([{ outcome: "enforced" }]);
    });

    test("close ends everything once, is idempotent, and nothing starts after it", async () => {
      const { engine, prepared, run } = await setup();
      const [running, waiting] = [await prepared(chat("a", "one"), 240), await prepared(chat("b", "two"), 240)];
      const heard = [run(running), run(waiting)];
      await heard[0]?.after(1);
      await Promise.all([engine.close(), engine.close()]);
      await engine.close();
      for (const each of heard) expect(each.ends).toHaveLength(1);
      const late = run({ ...running, id: "late" });
      expect(["failed", "refused"]).toContain((await late.end).reason);
      await expect(engine.start()).rejects.toMatchObject({ code: "engine_closed" });
    });
  });
}
