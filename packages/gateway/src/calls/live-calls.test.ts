import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { ScheduledCall } from "../scheduler.ts";
import { answer, chat, createRig, rawPost, until, usage, type Rig } from "../testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

test("K54: an x-request-id in flight is refused, a later one is served; tenants and option apart", async () => {
  rig = await createRig(
    {
      keys: new Map([
        ["a", "acme"],
        ["b", "beta"],
      ]),
    },
    true,
  );
  const send = (key: string) =>
    rawPost(rig.port, "/v1/chat/completions", chat(), { "x-request-id": "build-42", authorization: `Bearer ${key}` });
  const first = send("a");
  await until(() => rig.scheduler.running.size === 1);
  const second = send("a");
  await until(() => second.text().includes("duplicate_request_id"));
  expect(second.text()).toMatch(/^HTTP\/1.1 409/);
  const other = send("b");
  await until(() => rig.scheduler.running.size === 2);
  for (const call of rig.scheduler.calls) answer([call.identity.tenant])(call);
  await until(() => first.text().includes("acme") && other.text().includes("beta"));
  expect(first.text().toLowerCase()).toContain("x-request-id: build-42");
  rig.scheduler.run = answer(["again"]);
  const third = send("a");
  await until(() => third.text().includes("again"));
  expect(new Set(rig.scheduler.calls.map((call) => call.id)).size).toBe(3);
  for (const { socket } of [first, second, other, third]) socket.destroy();
});

test("closing drains: open calls may finish, new ones get 503, the rest is cut", async () => {
  rig = await createRig({ limits: { drainSeconds: 0.3 } }, true);
  const finishing = rawPost(rig.port, "/v1/chat/completions", chat());
  const staying = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => rig.scheduler.running.size === 2);
  const closing = rig.app.close();
  await sleep(20);
  const late = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => late.text().includes("shutting_down"));
  expect(late.text()).toMatch(/^HTTP\/1.1 503/);
  answer(["done"])(rig.scheduler.calls[0] as never);
  await until(() => finishing.text().includes("done"));
  await closing;
  await until(() => staying.text().includes("shutting_down"));
  expect(rig.scheduler.cancelled).toEqual([rig.scheduler.calls[1]?.id]);
});

test("K27: too large, announced or chunked: 413 before it is read whole, and others go on", async () => {
  rig = await createRig({}, true);
  rig.scheduler.run = answer(["ok"]);
  const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  for (const [first, step] of [
    [`${head}content-length: 12582912\r\n\r\n`, Buffer.alloc(65536, 0x20)],
    [`${head}transfer-encoding: chunked\r\n\r\n`, Buffer.from(`10000\r\n${" ".repeat(65536)}\r\n`)],
  ] as const) {
    const socket = connect(rig.port, "127.0.0.1");
    let got = "";
    socket.on("data", (chunk) => (got += chunk.toString()));
    socket.on("error", () => {});
    socket.write(first);
    if (first.includes("content-length")) await until(() => got.includes("payload_too_large"));
    for (let i = 0; i < 192 && !got.includes("payload_too_large") && !socket.closed; i++) {
      if (!socket.write(step)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), sleep(50)]);
    }
    await until(() => got.includes("payload_too_large"));
    expect(got).toMatch(/^HTTP\/1.1 413/);
    socket.destroy();
  }
  const fine = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => fine.text().includes("ok"));
  fine.socket.destroy();
  expect(rig.scheduler.calls).toHaveLength(1);
});

const failure = { code: "upstream_timeout", message: "m", status: 504, retryable: false };
const endings: readonly (readonly [string, (call: ScheduledCall) => void])[] = [
  ["times out", (call) => call.sink.end({ reason: "failed", usage: usage(), error: failure })],
  ["is refused", (call) => call.sink.end({ reason: "refused", usage: usage() })],
  ["is cancelled", (call) => call.sink.end({ reason: "cancelled", usage: usage() })],
  ["breaks off", (call) => (call.sink.token?.(1, Buffer.from("a")), call.sink.end({ reason: "failed", usage: usage() }))],
  ["finishes", answer(["ok"])],
];
test.each(endings)("K43: nothing stays held when a call %s: the same id is served again at once", async (_name, run) => {
  rig = await createRig({}, true);
  rig.scheduler.run = run;
  for (const path of ["/v1/chat/completions", "/v1/completions"]) {
    for (const stream of [true, false, true]) {
      const payload = { ...chat({ stream }), prompt: "hi" };
      const response = await fetch(`${rig.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-request-id": "same" },
        body: JSON.stringify(payload),
      });
      await response.text().catch(() => "cut");
      expect(response.status).not.toBe(409);
    }
  }
  expect(rig.scheduler.calls).toHaveLength(6);
  expect((await rig.app.inject({ url: "/metrics" })).body).toContain("topas_open_calls 0");
});

test("what is no HTTP is answered in OpenAI's shape too", async () => {
  rig = await createRig({}, true);
  const ask = async (bytes: string): Promise<string> => {
    const socket = connect(rig.port, "127.0.0.1");
    let got = "";
    socket.on("data", (chunk) => (got += chunk.toString()));
    socket.on("error", () => {});
    socket.write(bytes);
    await until(() => got.includes("\r\n\r\n{") && got.endsWith("}"));
    socket.destroy();
    return got;
  };
  expect(await ask("NONSENSE\r\n\r\n")).toMatch(/^HTTP\/1.1 400[^]*"code":"invalid_request"/);
  expect(await ask(`GET / HTTP/1.1\r\nx: ${"a".repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431[^]*"code":"headers_too_large"/);
  expect(await ask("GET /v1/%E0%A4%A HTTP/1.1\r\nhost: x\r\n\r\n")).toMatch(/^HTTP\/1.1 400[^]*"type":"invalid_request_error"/);
});
