import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { chat, createRig, rawPost, until, usage, type Rig } from "../testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

const NASTY = "漢字🚀«garçon»क्षि";
const stream = (extra: object = {}) =>
  rig.app.inject({ method: "POST", url: "/v1/chat/completions", payload: chat({ stream: true, ...extra }) });

const event = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
const sse = {
  "content-type": "text/event-stream",
  "x-request-id": "theirs",
  "transfer-encoding": "chunked",
  "x-upstream": "u1",
};
const rawRig = async (listens = false) => {
  rig = await createRig({}, listens);
  rig.scheduler.wire = "raw";
};

test("K64: bytes out equal bytes in, at every split and byte by byte", async () => {
  await rawRig();
  const whole = Buffer.from(event(NASTY) + "data: [DONE]\n\n");
  const cuts = Array.from({ length: whole.length + 1 }, (_, at) => [whole.subarray(0, at), whole.subarray(at)]);
  for (const pieces of [...cuts, [...whole].map((byte) => Uint8Array.of(byte))]) {
    rig.scheduler.run = ({ sink }) => {
      sink.head?.(200, sse);
      for (const piece of pieces) sink.raw?.(piece);
      sink.end({ reason: "stop", usage: usage() });
    };
    const response = await stream();
    expect(response.rawPayload.equals(whole)).toBe(true);
    expect(response.headers).toMatchObject({ "x-upstream": "u1", "content-type": "text/event-stream" });
    expect(response.headers["x-request-id"]).not.toBe("theirs");
  }
});

test("K02: the body goes up byte for byte, without our own members", async () => {
  await rawRig();
  const body = `{"messages": [{"role":"user", "content":"caf\\u00e9","n":1.0}],  "tools":[{"z":1e2,"a":"}"}], "topas":{"a":[1,"}"]},"unknown":1.50 , "cache_salt":"x"}`;
  const kept = `{"messages": [{"role":"user", "content":"caf\\u00e9","n":1.0}],  "tools":[{"z":1e2,"a":"}"}], "unknown":1.50  }`;
  const headers = {
    "content-type": "application/json",
    authorization: "Bearer up",
    "x-topas-receipt": "{",
    cookie: "c",
    traceparent: "t",
  };
  const open = rig.app.inject({ method: "POST", url: "/v1/chat/completions", payload: body, headers });
  await until(() => rig.scheduler.calls.length === 1);
  const [call] = rig.scheduler.calls;
  expect(Buffer.from(call?.http?.body ?? []).toString()).toBe(kept);
  expect(call?.http?.headers).toMatchObject({ authorization: "Bearer up", traceparent: "t", "x-request-id": call?.id });
  expect(Object.keys(call?.http?.headers ?? {}).filter((name) => /topas|cookie|host|length/.test(name))).toEqual([]);
  call?.sink.head?.(429, { "content-type": "application/json", "retry-after": "9" });
  call?.sink.raw?.(Buffer.from('{"error":{}}'));
  call?.sink.end({ reason: "failed", usage: usage() });
  const response = await open;
  expect([response.statusCode, response.headers["retry-after"], response.body]).toEqual([429, "9", '{"error":{}}']);
});

test("a key of this gateway never goes upstream", async () => {
  rig = await createRig({ keys: new Map([["sk-a", "acme"]]) });
  rig.scheduler.wire = "raw";
  rig.scheduler.run = ({ sink }) => sink.end({ reason: "failed", usage: usage() });
  const response = await rig.app.inject({
    method: "POST",
    url: "/v1/chat/completions",
    payload: chat(),
    headers: { authorization: "Bearer sk-a" },
  });
  expect(response.statusCode).toBe(502);
  expect(rig.scheduler.calls[0]?.http?.headers["authorization"]).toBeUndefined();
});

test("an upstream that breaks off between events: an error event; inside one: a cut connection", async () => {
  await rawRig(true);
  for (const [sent, cut] of [
    [event("a"), false],
    [event("a").slice(0, -9), true],
  ] as const) {
    rig.scheduler.run = ({ sink }) => {
      sink.head?.(200, sse);
      sink.raw?.(Buffer.from(sent));
      setTimeout(
        () =>
          sink.end({
            reason: "failed",
            usage: usage(),
            error: { code: "rst", message: "upstream reset", status: 502, retryable: false },
          }),
        10,
      );
    };
    const { socket, text } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
    await until(() => (cut ? socket.closed : text().includes("upstream reset")));
    expect(text().includes('"code":"rst"')).toBe(!cut);
    expect(text().endsWith("0\r\n\r\n")).toBe(!cut);
    socket.destroy();
  }
});

test("a short body under a longer Content-Length is a cut connection, never a hanging one", async () => {
  await rawRig(true);
  rig.scheduler.run = ({ sink }) => {
    sink.head?.(200, { "content-type": "application/json", "content-length": "10" });
    sink.raw?.(Buffer.from("{}"));
    sink.end({ reason: "stop", usage: usage() });
  };
  const { socket } = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => socket.closed);
});

test("after a ping, an upstream's refusal is told as an event", async () => {
  rig = await createRig({ limits: { pingSeconds: 0.02 } }, true);
  rig.scheduler.wire = "raw";
  rig.scheduler.slots = 0;
  const { socket, text } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => text().includes(": ping"));
  const [call] = rig.scheduler.calls;
  call?.sink.head?.(503, { "content-type": "application/json" });
  call?.sink.raw?.(Buffer.from("overloaded"));
  call?.sink.end({ reason: "failed", usage: usage() });
  await until(() => text().includes("the upstream answered 503: overloaded"));
  socket.destroy();
});

test("K42: the upstream is paused while a client does not read, and resumed once", async () => {
  await rawRig(true);
  const { socket, text } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  socket.pause();
  await until(() => rig.scheduler.running.size === 1);
  const [call] = rig.scheduler.calls;
  call?.sink.head?.(200, sse);
  const chunk = Buffer.alloc(64 * 1024, 0x61);
  let taken = 0;
  let full = 0;
  while (full < 20 && taken < 256) {
    if (call?.sink.raw?.(chunk) === false) {
      full++;
      await sleep(2);
      if (rig.scheduler.resumed.length > 0) {
        rig.scheduler.resumed.length = 0;
        full = 0;
      } else break;
    }
    taken++;
  }
  await sleep(20);
  expect(taken * chunk.length).toBeLessThan(16 * 1024 * 1024);
  expect(rig.scheduler.resumed).toEqual([]);
  socket.resume();
  await until(() => rig.scheduler.resumed.length === 1);
  call?.sink.end({ reason: "stop", usage: usage() });
  await until(() => text().endsWith("0\r\n\r\n"));
  expect(rig.scheduler.resumed).toEqual([call?.id]);
  socket.destroy();
});

test("no ping gets into an answer that is no event stream", async () => {
  rig = await createRig({ limits: { pingSeconds: 0.02 } }, true);
  rig.scheduler.wire = "raw";
  const post = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => rig.scheduler.running.size === 1);
  const [call] = rig.scheduler.calls;
  call?.sink.head?.(200, { "content-type": "application/json" });
  await sleep(60);
  call?.sink.raw?.(Buffer.from("{}"));
  call?.sink.end({ reason: "stop", usage: usage() });
  await until(() => post.text().endsWith("0\r\n\r\n"));
  expect(post.text()).not.toContain("ping");
  post.socket.destroy();
});

test("a header that cannot be passed on is a 502, not a crash", async () => {
  await rawRig();
  rig.scheduler.run = ({ sink }) => sink.head?.(200, { "x-odd": "a\nb" });
  const response = await stream();
  expect([response.statusCode, response.json().error.code]).toEqual([502, "upstream_error"]);
  expect(rig.scheduler.cancelled).toHaveLength(1);
});
