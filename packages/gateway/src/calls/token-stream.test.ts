import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { answer, chat, createRig, rawPost, until, usage, type Rig } from "../testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

const NASTY = "漢字🚀«garçon»क्षि";
const bytes = Buffer.from(NASTY);
const stream = (extra: object = {}) =>
  rig.app.inject({ method: "POST", url: "/v1/chat/completions", payload: chat({ stream: true, ...extra }) });

/** The text of a token stream, read the way a client reads it. */
const textOf = (body: string): string =>
  body
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)).choices[0]?.delta?.content ?? "")
    .join("");

test("a stream has a role event, text, finish, usage on request and [DONE]", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["Hel", "lo"], { cachedTokens: 3 });
  const response = await stream({ stream_options: { include_usage: true } });
  expect(response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  const events = response.body.split("\n\n").slice(0, -1);
  expect(events.at(-1)).toBe("data: [DONE]");
  const objects = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)));
  expect(objects.map((each) => each.choices[0]?.delta)).toEqual([
    { role: "assistant", content: "" },
    { content: "Hel" },
    { content: "lo" },
    {},
    undefined,
  ]);
  expect(objects[3].choices[0].finish_reason).toBe("stop");
  expect(objects.slice(0, 4).every((each) => each.usage === null)).toBe(true);
  expect(objects[4]).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } },
  });
  expect((await stream()).body).not.toContain("usage");
});

test("K64: a character cut in two comes out whole, at every split and byte by byte", async () => {
  rig = await createRig();
  const cuts = Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  for (const pieces of [...cuts, [...bytes].map((byte) => Uint8Array.of(byte))]) {
    rig.scheduler.run = answer(pieces);
    const body = (await stream()).body;
    expect(textOf(body)).toBe(NASTY);
    expect(body).not.toContain("\ufffd");
    const whole = await rig.app.inject({ method: "POST", url: "/v1/chat/completions", payload: chat() });
    expect(whole.json().choices[0].message.content).toBe(NASTY);
  }
});

test("a failure after the first byte is one error event, then the end", async () => {
  rig = await createRig();
  rig.scheduler.run = (call) => {
    call.sink.token?.(1, Buffer.from("a"));
    call.sink.end({
      reason: "failed",
      usage: usage(),
      error: { code: "engine_lost", message: "gone", status: 503, retryable: true },
    });
    call.sink.token?.(2, Buffer.from("late"));
  };
  const response = await stream();
  expect(response.statusCode).toBe(200);
  expect(response.body).toMatch(
    /data: \{"error":\{"message":"gone","type":"server_error","code":"engine_lost","param":null\}\}\n\n$/,
  );
  expect(response.body).not.toContain("late");
  expect(response.body).not.toContain("[DONE]");
});

test("while queued: the status can still change before the first ping, and a ping keeps the stream open", async () => {
  rig = await createRig({ limits: { pingSeconds: 0.03 } }, true);
  rig.scheduler.slots = 0;
  const { text, socket } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => rig.scheduler.waiting.length === 1);
  expect(text()).toBe("");
  await until(() => text().split(": ping\n\n").length > 2);
  rig.scheduler.waiting[0]?.sink.end({
    reason: "failed",
    usage: usage(),
    error: { code: "queue_timeout", message: "late", status: 429, retryable: true },
  });
  await until(() => text().includes("queue_timeout"));
  expect(text()).toMatch(/^HTTP\/1.1 200 OK/);
  socket.destroy();
});

test("K42: a reader that never reads is cut at the buffer's cap", async () => {
  rig = await createRig({ limits: { streamBufferBytes: 64 * 1024 } }, true);
  const { socket } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  socket.pause();
  await until(() => rig.scheduler.running.size === 1);
  const [call] = rig.scheduler.calls;
  const piece = Buffer.alloc(16 * 1024, 0x61);
  let sent = 0;
  while (rig.scheduler.running.size > 0 && sent < 64 * 1024 * 1024) {
    call?.sink.token?.(sent, piece);
    sent += piece.length;
    if (sent % (piece.length * 16) === 0) await sleep(1);
  }
  expect(sent).toBeLessThan(32 * 1024 * 1024);
  expect(rig.scheduler.cancelled).toEqual([call?.id]);
  socket.destroy();
});
