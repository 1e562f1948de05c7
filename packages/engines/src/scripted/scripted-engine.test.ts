import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CallEnd, EngineCall, EngineEvent, EngineSink, PreparedPrompt } from "../engine.ts";
import type { ScriptedOptions } from "./scripted-engine.ts";
import { ScriptedEngine } from "./scripted-engine.ts";

const words = (count: number, mark: string): string => Array.from({ length: count }, (_, n) => `${mark}${n}`).join(" ");

interface Heard extends EngineSink {
  text: string;
  ends: CallEnd[];
}
const hear = (): Heard => {
  const heard: Heard = {
    text: "",
    ends: [],
    token: (_, piece) => void (heard.text += Buffer.from(piece).toString("latin1")),
    end: (end) => void heard.ends.push(end),
  };
  return heard;
};

async function setup(options: ScriptedOptions = {}) {
  const engine = new ScriptedEngine({ stepMs: "manual", ...options });
  await engine.start();
  const events: EngineEvent[] = [];
  engine.subscribe((event) => events.push(event));
  const prompt = (agent: string, ask: string): Promise<PreparedPrompt> =>
    engine.prepare({
      kind: "chat",
      tenant: "t",
      messages: [
        { role: "system", content: words(40, agent) },
        { role: "user", content: ask },
      ],
    });
  const call = async (id: string, agent: string, ask: string, more: Partial<EngineCall> = {}): Promise<EngineCall> => ({
    id,
    prompt: await prompt(agent, ask),
    maxTokens: 8,
    sampling: { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: false },
    stop: [],
    session: null,
    http: null,
    ...more,
  });
  return { engine, events, call };
}

describe("ScriptedEngine", () => {
  test("a prefix is computed once, then cached; cells come back", async () => {
    const { engine, events, call } = await setup();
    const [one, two] = [hear(), hear()];
    engine.submit(await call("1", "a", "x y z"), one);
    engine.tick(20);
    engine.submit(await call("2", "a", "other"), two);
    engine.tick(20);
    expect(one.ends[0]).toMatchObject({ reason: "length", usage: { cachedTokens: 0, computedTokens: 46, completionTokens: 8 } });
    expect(two.ends[0]).toMatchObject({ usage: { cachedTokens: 41, promptTokens: 44, computedTokens: 3 } });
    expect(events.filter((event) => event.kind === "loaded")).toHaveLength(1);
    expect(engine.state.ledger.free).toBe(4_096 - 41);
  });

  test("a session continues where it was, also after a stay on the host", async () => {
    const { engine, call } = await setup();
    const [one, two, three] = [hear(), hear(), hear()];
    engine.submit(await call("1", "a", "x y z", { session: "s" }), one);
    engine.tick(20);
    const retained = one.ends[0]?.usage.retainedTokens ?? 0;
    expect(retained).toBe(5 + 8);
    const first = await call("2", "a", "x y z");
    const history = [...first.prompt.tokens!, ...engine.state.ledger.sessions.get("session:s")!.sequence.subarray(46), 7, 7];
    const more: PreparedPrompt = { ...first.prompt, tokens: Int32Array.from(history), promptTokens: history.length };
    engine.submit({ ...first, prompt: more, session: "s" }, two);
    engine.tick(20);
    expect(two.ends[0]?.usage).toMatchObject({ cachedTokens: 41 + retained, computedTokens: 2 });
    expect(await engine.apply([{ op: "evict", entry: "session:s", keepHost: true }])).toMatchObject([{ outcome: "enforced" }]);
    expect(engine.state.ledger.free).toBe(4_096 - 41);
    engine.submit({ ...first, id: "3", prompt: more, session: "s" }, three);
    engine.tick(20);
    expect(three.ends[0]?.usage.cachedTokens).toBe(history.length - 1);
    expect(three.text).toBe(two.text);
  });

  test("short of cells: entries go in rank order, unnamed ones first, used ones never", async () => {
    const { engine, events, call } = await setup({ kvTokens: 200 });
    for (const agent of ["a", "b", "c"]) engine.submit(await call(agent, agent, "x"), hear());
    engine.tick(40);
    const id = async (agent: string) => `prefix:${(await call("", agent, "x")).prompt.prefix!.id}` as const;
    await engine.apply([{ op: "rank", order: [await id("a"), await id("c")] }]);
    engine.submit(await call("4", "d", words(100, "u")), hear());
    engine.tick(40);
    const gone = events.filter((event) => event.kind === "evicted").map((event) => event.entry);
    expect(gone).toEqual([await id("b"), await id("a")]);
  });

  test("without reservations the engine preempts the youngest; resumed, its output is what it would have been", async () => {
    const { engine, events, call } = await setup({ kvTokens: 80, reserve: false });
    const [old, young, alone] = [hear(), hear(), hear()];
    engine.submit(await call("old", "a", words(8, "x"), { maxTokens: 14 }), old);
    engine.submit(await call("young", "a", words(4, "y"), { maxTokens: 12 }), young);
    engine.tick(30);
    expect(events.find((event) => event.kind === "preempted")).toMatchObject({ request: "young", by: "engine", keptTokens: 0 });
    expect(old.ends).toHaveLength(1);
    expect(await engine.apply([{ op: "resume", id: "young" }])).toMatchObject([{ outcome: "enforced" }]);
    engine.tick(30);
    expect(young.ends[0]?.usage.redoneTokens).toBeGreaterThan(0);
    engine.submit(await call("alone", "a", words(4, "y"), { maxTokens: 12 }), alone);
    engine.tick(30);
    expect(alone.text).toBe(young.text);
  });

  test("a load is answered when the entry is resident, or lost", async () => {
    const { engine, call } = await setup();
    const entry = `prefix:${(await call("", "a", "x")).prompt.prefix!.id}` as const;
    const both = engine.apply([
      { op: "load", entry },
      { op: "load", entry },
    ]);
    engine.tick();
    expect(await both).toMatchObject([
      { outcome: "enforced", tokens: 41, bytes: 0 },
      { outcome: "enforced", tokens: 41 },
    ]);
    expect(await engine.apply([{ op: "evict", entry, keepHost: false }])).toMatchObject([{ outcome: "enforced", tokens: 41 }]);
    const lost = engine.apply([{ op: "load", entry }]);
    engine.crash();
    expect(await lost).toMatchObject([{ outcome: "noRoom", tokens: 0 }]);
  });

  test("scripts: stop, fail, stall and release; stop strings; refusals", async () => {
    const { engine, call } = await setup({
      script: ({ id }) => ({ stop: { tokens: 3 }, fail: { failAfter: 2 }, stall: { stallAfter: 1 } })[id],
    });
    const heard = Object.fromEntries(["stop", "fail", "stall", "big", "twin"].map((id) => [id, hear()]));
    for (const id of ["stop", "fail", "stall"]) engine.submit(await call(id, "a", "x"), heard[id]!);
    engine.submit(await call("stall", "a", "x"), heard["twin"]!);
    engine.submit(await call("big", "a", "x", { maxTokens: 5_000 }), heard["big"]!);
    await Promise.resolve();
    engine.tick(30);
    expect(heard["twin"]?.ends).toMatchObject([{ reason: "refused", error: { code: "duplicate_request_id", status: 409 } }]);
    expect(heard["big"]?.ends).toMatchObject([{ reason: "refused", error: { code: "context_length_exceeded", status: 400 } }]);
    expect(heard["stop"]?.ends).toMatchObject([{ reason: "stop", usage: { completionTokens: 3 } }]);
    expect(heard["fail"]?.ends).toMatchObject([{ reason: "failed", usage: { completionTokens: 2 } }]);
    expect(heard["stall"]?.ends).toEqual([]);
    engine.release("stall");
    engine.tick(30);
    expect(heard["stall"]?.ends).toMatchObject([{ reason: "length" }]);
    const text = heard["stall"]!.text;
    const cut = hear();
    engine.submit(await call("cut", "a", "x", { stop: [text.slice(9, 14)] }), cut);
    engine.tick(30);
    expect(cut.ends).toMatchObject([{ reason: "stop" }]);
    expect(cut.text).toBe(text.slice(0, text.indexOf(text.slice(9, 14))));
  });

  test("a crash ends every call once, empties the engine, and it comes back", async () => {
    const { engine, events, call } = await setup();
    const [running, queued, late] = [hear(), hear(), hear()];
    engine.submit(await call("1", "a", "x"), running);
    engine.tick(4);
    engine.submit(await call("2", "b", "x"), queued);
    engine.crash();
    expect(running.ends).toMatchObject([{ reason: "failed", error: { code: "engine_lost", status: 503, retryable: false } }]);
    expect(queued.ends).toMatchObject([{ reason: "failed", error: { retryable: true } }]);
    engine.submit(await call("3", "a", "x"), late);
    await Promise.resolve();
    expect(late.ends).toMatchObject([{ reason: "failed", error: { code: "engine_lost", retryable: true } }]);
    expect(engine.state.ledger.free).toBe(4_096);
    engine.recover();
    expect(events.filter((event) => event.kind === "lost" || event.kind === "ready")).toHaveLength(2);
    engine.submit(await call("4", "a", "x"), late);
    engine.tick(20);
    expect(late.ends).toHaveLength(2);
  });

  test("by timer it needs nobody", async () => {
    const { engine, call } = await setup({ stepMs: 0 });
    const end = await new Promise<CallEnd>(
      (resolve) => void call("1", "a", "x").then((made) => engine.submit(made, { end: resolve })),
    );
    expect(end.reason).toBe("length");
    await engine.close();
  });

  test("whatever the scheduler does: books add up, one end each, output and counts unchanged", async () => {
    const { engine: alone, call } = await setup();
    const calls: EngineCall[] = [];
    for (let n = 0; n < 6; n++)
      calls.push(await call(String(n), "abc"[n % 3]!, words(n * 3 + 1, "u"), { session: n > 3 ? `s${n % 2}` : null }));
    const expected = calls.map((made) => {
      const heard = hear();
      alone.submit({ ...made, session: null }, heard);
      alone.tick(40);
      return heard.text;
    });
    const entry = fc.constantFrom(
      ...calls.map((made) => `prefix:${made.prompt.prefix!.id}` as const),
      "session:s0" as const,
      "session:s1" as const,
    );
    const id = fc.constantFrom("0", "1", "2", "3", "4", "5");
    const command = fc.oneof(
      fc.record({ op: fc.constant("preempt" as const), id, keep: fc.constantFrom("swap" as const, "recompute" as const) }),
      fc.record({ op: fc.constant("resume" as const), id }),
      fc.record({ op: fc.constant("evict" as const), entry, keepHost: fc.boolean() }),
      fc.record({ op: fc.constantFrom("load" as const, "dropHost" as const), entry }),
      fc.record({ op: fc.constant("rank" as const), order: fc.array(entry, { maxLength: 3 }) }),
    );
    const run = async (commands: readonly (Parameters<ScriptedEngine["apply"]>[0][number] | number)[], reserve: boolean) => {
      const { engine, events } = await setup({ kvTokens: 190, hostTokens: 120, chunkTokens: 16, maxRunning: 3, reserve });
      const heard = calls.map(() => hear());
      calls.forEach((made, n) => engine.submit(made, heard[n]!));
      for (const step of commands) {
        if (typeof step === "number") engine.tick(step);
        else void engine.apply([step]);
        engine.checkInvariants();
      }
      for (let round = 0; round < 400 && engine.state.jobs.size > 0; round++) {
        await engine.apply(calls.map((made) => ({ op: "resume" as const, id: made.id })));
        engine.tick();
      }
      heard.forEach((each, n) => {
        expect(each.ends).toMatchObject([{ reason: "length", usage: { completionTokens: 8 } }]);
        expect(each.text).toBe(expected[n]);
        const deltas = events
          .flatMap((event) => (event.kind === "step" ? event.deltas : []))
          .filter(({ request }) => request === String(n));
        expect(deltas.reduce((sum, { decoded }) => sum + decoded, 0)).toBe(8);
        const usage = each.ends[0]!.usage;
        expect(deltas.reduce((sum, { prefilled }) => sum + prefilled, 0)).toBeLessThanOrEqual(usage.computedTokens!);
        expect(usage.cachedTokens! + usage.computedTokens!).toBeGreaterThanOrEqual(usage.promptTokens!);
        expect(usage.cachedTokens).toBeLessThan(usage.promptTokens!);
      });
      const own = events.flatMap((event) => (event.kind === "step" ? event.deltas : [])).reduce((sum, d) => sum + d.prefilled, 0);
      const filled = events.reduce((sum, event) => sum + (event.kind === "loaded" ? event.computedTokens : 0), 0);
      expect(own + filled).toBeGreaterThanOrEqual(heard.reduce((sum, each) => sum + each.ends[0]!.usage.computedTokens!, 0));
    };
    await fc.assert(fc.asyncProperty(fc.array(fc.oneof(command, fc.nat(4)), { maxLength: 40 }), fc.boolean(), run), {
      numRuns: 150,
    });
  });
});
