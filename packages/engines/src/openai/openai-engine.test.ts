import { afterEach, describe, expect, test } from "vitest";
import type { CallEnd, EngineCall, EngineEvent, EngineSink, PromptInput } from "../engine.ts";
import type { OpenAiOptions } from "./openai-engine.ts";
import { OpenAiEngine } from "./openai-engine.ts";
import type { Received, Upstream } from "./testing/upstream.ts";
import { sseAnswer, startUpstream } from "./testing/upstream.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function setup(answer: (request: Received) => void | Promise<void>, options: Partial<OpenAiOptions> = {}) {
  const upstream: Upstream = await startUpstream(answer);
  const engine = new OpenAiEngine({ baseUrl: upstream.url, ...options });
  cleanups.push(
    () => upstream.close(),
    () => engine.close(),
  );
  return { upstream, engine };
}

function listen(onRaw: (chunk: Uint8Array) => boolean = () => true) {
  const heads: { status: number; headers: Readonly<Record<string, unknown>> }[] = [];
  const chunks: Uint8Array[] = [];
  const ends: CallEnd[] = [];
  let finished = (_end: CallEnd): void => {};
  const end = new Promise<CallEnd>((resolve) => (finished = resolve));
  const sink: EngineSink = {
    head: (status, headers) => void heads.push({ status, headers }),
    raw: (chunk) => {
      chunks.push(chunk);
      return onRaw(chunk);
    },
    end: (value) => {
      ends.push(value);
      finished(value);
    },
  };
  return { sink, heads, chunks, ends, end, body: () => Buffer.concat(chunks).toString() };
}

const call = (id: string, more: Partial<NonNullable<EngineCall["http"]>> = {}): EngineCall => ({
  id,
  prompt: { tokens: null, promptTokens: 1, exact: false, prefix: null },
  maxTokens: 8,
  sampling: { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: false },
  stop: [],
  session: null,
  http: {
    path: "/v1/chat/completions",
    headers: { "content-type": "application/json" },
    body: Buffer.from(`{"id":"${id}", "x": 1.0}`),
    ...more,
  },
});

const stream =
  (parts: readonly string[]) =>
  async ({ response }: Received): Promise<void> => {
    response.writeHead(200, { "content-type": "text/event-stream", "x-up": "1" });
    for (const part of parts) {
      response.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };

describe("OpenAiEngine", () => {
  test("bytes in equal bytes out, in both directions; usage from the tail", async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } };
    const parts = sseAnswer(5, usage, "length");
    const { upstream, engine } = await setup(stream(parts));
    const heard = listen();
    const body = Buffer.from('{ "model":"m",\r\n "ünï":1.50 }');
    engine.submit(call("1", { body: new Uint8Array(body) }), heard.sink);
    expect(await heard.end).toMatchObject({
      reason: "length",
      usage: { promptTokens: 10, cachedTokens: 4, completionTokens: 5, computedTokens: null },
    });
    expect(heard.body()).toBe(parts.join(""));
    expect(upstream.received[0]?.body.equals(body)).toBe(true);
    expect(heard.heads).toMatchObject([{ status: 200, headers: { "x-up": "1", "content-type": "text/event-stream" } }]);
    expect(heard.heads[0]?.headers["transfer-encoding"]).toBeUndefined();
  });

  test("credentials and connection headers stay here; the upstream's own key is used", async () => {
    const answer = ({ response }: Received): void => void response.end("{}");
    const headers = {
      Authorization: "Bearer mine",
      cookie: "c",
      host: "evil",
      connection: "x-hop",
      "x-hop": "1",
      "x-keep": "2",
      "content-length": "1",
    };
    const kept = await setup(answer, { apiKey: "theirs" });
    const passed = await setup(answer, { apiKey: "theirs", forwardAuthorization: true });
    for (const { engine } of [kept, passed]) {
      const heard = listen();
      engine.submit(call("1", { headers }), heard.sink);
      await heard.end;
    }
    const [one, two] = [kept, passed].map(({ upstream }) => upstream.received[0]?.headers);
    expect(one).toMatchObject({
      authorization: "Bearer theirs",
      "x-keep": "2",
      host: kept.upstream.url.slice(7),
      "content-length": "20",
    });
    expect([one?.cookie, one?.["x-hop"]]).toEqual([undefined, undefined]);
    expect(two).toMatchObject({ authorization: "Bearer mine" });
  });

  test.each([
    ["", "/v1/chat/completions"],
    ["/v1", "/v1/chat/completions"],
    ["/v1/", "/v1/chat/completions"],
    ["/proxy/openai", "/proxy/openai/v1/chat/completions"],
  ])("base URL ending in %j", async (suffix, path) => {
    const { upstream } = await setup(({ response }) => void response.end("{}"));
    const engine = new OpenAiEngine({ baseUrl: upstream.url + suffix });
    cleanups.push(() => engine.close());
    const heard = listen();
    engine.submit(call("1"), heard.sink);
    await heard.end;
    expect(upstream.received[0]?.path).toBe(path);
  });

  test("cancel before headers, mid-stream and without a connection: aborted upstream, one end", async () => {
    const { upstream, engine } = await setup(({ response, body }) => {
      if (body.includes('"mid"')) response.writeHead(200).write("data: 1\n\n");
    });
    const early = listen();
    engine.submit(call("early"), early.sink);
    const before = await upstream.post(0);
    engine.cancel("early");
    expect(await before.closed).toBe("aborted");
    let first = (): void => {};
    const begun = new Promise<void>((resolve) => (first = resolve));
    const mid = listen(() => (first(), true));
    engine.submit(call("mid"), mid.sink);
    await begun;
    engine.cancel("mid");
    expect(await (await upstream.post(1)).closed).toBe("aborted");
    const fresh = new OpenAiEngine({ baseUrl: upstream.url });
    const never = listen();
    fresh.submit(call("never"), never.sink);
    fresh.cancel("never");
    fresh.cancel("never");
    fresh.cancel("unknown");
    const after = listen();
    fresh.submit(call("after"), after.sink);
    await upstream.post(2);
    await fresh.close();
    expect(after.ends).toMatchObject([{ reason: "cancelled" }]);
    for (const heard of [early, mid, never]) expect(heard.ends).toMatchObject([{ reason: "cancelled" }]);
    expect(upstream.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)).toEqual([
      "early",
      "mid",
      "after",
    ]);
  });

  test("a sink that says false pauses the socket until resume; nothing is lost", async () => {
    const big = Buffer.alloc(8 << 20, "x");
    const { engine } = await setup(({ response }) => void response.end(big));
    let paused = 0;
    const heard = listen(() => {
      paused += 1;
      const seen = paused;
      setImmediate(() => {
        expect(paused).toBe(seen);
        engine.resume("1");
      });
      return false;
    });
    engine.submit(call("1"), heard.sink);
    expect((await heard.end).reason).toBe("stop");
    expect(Buffer.concat(heard.chunks).equals(big)).toBe(true);
  });

  test("failures are typed, and retryable only before the first byte", async () => {
    const down = new OpenAiEngine({ baseUrl: "http://127.0.0.1:1" });
    cleanups.push(() => down.close());
    expect((await down.start()).notes[0]).toContain("failed");
    const refused = listen();
    down.submit(call("1"), refused.sink);
    expect(await refused.end).toMatchObject({
      reason: "failed",
      error: { code: "upstream_unavailable", status: 503, retryable: true },
    });

    const { engine } = await setup(
      ({ response, body }) => {
        if (body.includes('"cut"')) response.writeHead(200).write("data", () => response.destroy());
        if (body.includes('"full"')) response.writeHead(503, { "retry-after": "1" }).end('{"error":{}}');
      },
      { firstByteMs: 50 },
    );
    const heard = Object.fromEntries(["silent", "cut", "full", "twice"].map((id) => [id, listen()]));
    for (const [id, each] of Object.entries(heard)) engine.submit(call(id), each.sink);
    const again = listen();
    engine.submit(call("silent"), again.sink);
    expect(await again.end).toMatchObject({ reason: "refused", error: { code: "duplicate_request_id", status: 409 } });
    expect(await heard["silent"]?.end).toMatchObject({ reason: "failed", error: { code: "upstream_timeout", status: 504 } });
    expect(await heard["cut"]?.end).toMatchObject({
      reason: "failed",
      error: { code: "upstream_unavailable", retryable: false },
    });
    expect(await heard["full"]?.end).toMatchObject({
      reason: "failed",
      error: { code: "upstream_status", status: 503, retryable: false },
    });
    expect(heard["full"]?.heads).toMatchObject([{ status: 503, headers: { "retry-after": "1" } }]);
    expect(heard["full"]?.body()).toBe('{"error":{}}');
    const bare = listen();
    engine.submit({ ...call("bare"), http: null }, bare.sink);
    expect(await bare.end).toMatchObject({ reason: "refused", error: { status: 400 } });
    expect(() => new OpenAiEngine({ baseUrl: "ftp://x" })).toThrow("not an http(s) URL");
  });

  test("describes what it was told and what it saw", async () => {
    const { engine } = await setup(stream(sseAnswer(1, { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } })), {
      kvBudgetTokens: 100,
    });
    const events: EngineEvent[] = [];
    engine.subscribe((event) => events.push(event));
    expect(await engine.start()).toMatchObject({
      model: "fixture-model",
      kvBudgetTokens: 100,
      contextTokens: null,
      residencySource: "none",
    });
    for (const id of ["1", "2"]) {
      const heard = listen();
      engine.submit(call(id), heard.sink);
      await heard.end;
    }
    expect(events).toMatchObject([{ kind: "ready", description: { residencySource: "cached-tokens" } }]);
  });

  test("estimates sizes; the prefix is tenant, model, system and tools as sent", async () => {
    const { engine } = await setup(() => {});
    const system = { role: "system", content: "é".repeat(100) };
    const chat = (more: Partial<Extract<PromptInput, { kind: "chat" }>> = {}): Promise<string | undefined> =>
      engine
        .prepare({ kind: "chat", tenant: "t", messages: [system, { role: "user", content: "x" }], ...more } as PromptInput)
        .then(({ prefix }) => prefix?.id);
    const prepared = await engine.prepare({
      kind: "chat",
      tenant: "t",
      messages: [system, { role: "user", content: "12345678" }],
    });
    expect(prepared).toMatchObject({ tokens: null, exact: false, promptTokens: 50 + 4 + 2 + 4 + 1, prefix: { tokens: 54 } });
    expect(await chat()).toBe(prepared.prefix?.id);
    const cut = { role: "system", content: "e\u0301".repeat(100) };
    const others = [{ tenant: "u" }, { model: "other" }, { tools: [{}] }, { messages: [cut, { role: "user", content: "x" }] }];
    const ids = await Promise.all([chat(), ...others.map((more) => chat(more))]);
    expect(new Set(ids).size).toBe(5);
    expect(await chat({ messages: [{ role: "user", content: "only a user" }] })).toBeUndefined();
  });
});
