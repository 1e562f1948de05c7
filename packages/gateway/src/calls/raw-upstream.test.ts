import { setTimeout as sleep } from "node:timers/promises";
import { OpenAiEngine } from "@topas/engines";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startGateway, type RunningGateway, type StartOptions } from "../start.ts";
import { chat, rawPost, until } from "../testing/rig.ts";
import { createUpstream, type Upstream, type UpstreamCall } from "../testing/upstream.ts";

let upstream: Upstream;
let gateway: RunningGateway;
beforeEach(async () => {
  upstream = await createUpstream();
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
});

const start = async (more: Partial<StartOptions> = {}, firstByteMs = 5000): Promise<void> => {
  const engine = new OpenAiEngine({ baseUrl: upstream.url, firstByteMs, maxRunning: 4 });
  const limits = { drainSeconds: 0 };
  gateway = await startGateway({ engine, policy: "fcfs", host: "127.0.0.1", port: 0, keys: new Map(), limits, ...more });
};
const port = (): number => Number(new URL(gateway.url).port);
const post = (body: string | object, path = "/v1/chat/completions") =>
  fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const event = (text: string): string => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)}}}]}\n\n`;
const openStream = (call: UpstreamCall): void => void call.response.writeHead(200, { "content-type": "text/event-stream" });
const idle = (): boolean => {
  const { queue_depth: queued, in_flight: running } = gateway.loop.counters();
  return queued === 0 && running === 0;
};

test("K02, K52: request bytes go up, response bytes come down, neither changed", async () => {
  await start();
  const answer = '{ "id":"theirs", "choices":[], "usage": {"prompt_tokens":12.0} }';
  upstream.answer = ({ response }) => response.setHeader("content-type", "application/json").end(answer);
  const body = '{"messages":[{"role":"user","content":"\\u00e9","x":1.0}], "nobody_knows":[1e2],"n":1}';
  const response = await post(body);
  expect(await response.text()).toBe(answer);
  expect(upstream.calls[0]?.body.toString()).toBe(body);
  expect(response.headers.get("x-topas-request-id")).toBe(upstream.calls[0]?.headers["x-request-id"]);
  await until(idle);
});

test("K64: a stream cut anywhere keeps its bytes", async () => {
  await start();
  const whole = Buffer.from(event("漢字🚀«garçon»क्षि") + "data: [DONE]\n\n");
  for (const at of [7, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, whole.length - 3]) {
    upstream.answer = async (call) => {
      openStream(call);
      call.response.write(whole.subarray(0, at));
      await sleep(2);
      call.response.end(whole.subarray(at));
    };
    const response = await post(chat({ stream: true }));
    expect(Buffer.from(await response.arrayBuffer()).equals(whole)).toBe(true);
  }
});

test("K32, K33: the upstream sees the abort within 200 ms, before and after its first byte, streaming or not", async () => {
  await start();
  for (const path of ["/v1/chat/completions", "/v1/completions"]) {
    for (const stream of [true, false]) {
      for (const started of [true, false]) {
        upstream.answer = (call) => {
          if (!started) return;
          openStream(call);
          call.response.write(event("a"));
        };
        const { socket, text } = rawPost(port(), path, { ...chat({ stream }), prompt: "hi" });
        const seen = upstream.calls.length;
        await until(() => upstream.calls.length === seen + 1 && (!started || text().includes("data:")));
        socket.destroy();
        const left = performance.now();
        await until(() => upstream.calls.at(-1)?.aborted === true);
        expect(performance.now() - left).toBeLessThan(200);
        await until(idle);
      }
    }
  }
});

test("K41: an upstream that never answers is a 504, and its place is free again", async () => {
  await start({}, 1000);
  const response = await post(chat());
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
    504,
    "upstream_timeout",
  ]);
  await until(idle);
  expect(upstream.calls[0]?.aborted).toBe(true);
});

test("K42: a slow reader holds the upstream back; when it leaves, all is released", async () => {
  await start();
  const chunk = Buffer.alloc(64 * 1024, 0x61);
  upstream.answer = (call) => {
    openStream(call);
    const pump = (): void => {
      while (call.taken < 64 * 1024 * 1024 && !call.response.destroyed) {
        call.taken += chunk.length;
        if (!call.response.write(chunk)) return void call.response.once("drain", pump);
      }
    };
    pump();
  };
  const slow = rawPost(port(), "/v1/chat/completions", chat({ stream: true }));
  slow.socket.pause();
  await until(() => (upstream.calls[0]?.taken ?? 0) > 0);
  let before = -1;
  while (before !== upstream.calls[0]?.taken) {
    before = upstream.calls[0]?.taken ?? 0;
    await sleep(100);
  }
  // Two hops of kernel buffers, which grow on their own; nothing in this process.
  expect(before).toBeLessThan(24 * 1024 * 1024);
  slow.socket.destroy();
  await until(() => idle() && upstream.calls[0]?.aborted === true);
});

test("K47: an upstream that is gone is a 503 with reason and Retry-After", async () => {
  await start();
  await upstream.close();
  const response = await post(chat({ stream: true }));
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("2");
  expect(response.headers.get("x-topas-dropped-reason")).toBe("rejected-no-endpoints");
  await until(idle);
  upstream = await createUpstream();
});

test("K50: a connection that breaks before the status line is tried once more; after a byte, never", async () => {
  await start();
  const answer = '{"choices":[]}';
  upstream.answer = (call) => {
    if (upstream.calls.length === 1) call.response.socket?.destroy();
    else call.response.setHeader("content-type", "application/json").end(answer);
  };
  const response = await post(chat());
  expect([response.status, await response.text(), upstream.calls.length]).toEqual([200, answer, 2]);
  expect(upstream.calls[1]?.body.equals(upstream.calls[0]!.body)).toBe(true);
  upstream.answer = (call) => {
    openStream(call);
    call.response.write(event("a"), () => call.response.socket?.destroy());
  };
  const cut = await post(chat({ stream: true }));
  expect(await cut.text()).toContain("upstream_unavailable");
  expect(upstream.calls).toHaveLength(3);
  upstream.answer = (call) => void call.response.socket?.destroy();
  const gone = await post(chat());
  expect([gone.status, upstream.calls.length]).toEqual([503, 5]);
  expect(gateway.loop.counters()).toMatchObject({ upstream_retries_total: 2, calls_total: 3 });
  await until(idle);
});

test("K50: retries have a budget, at most three or a tenth of the calls of ten seconds", async () => {
  await start();
  upstream.answer = (call) => void call.response.socket?.destroy();
  const all = await Promise.all(Array.from({ length: 20 }, () => post(chat())));
  expect(new Set(all.map((each) => each.status))).toEqual(new Set([503]));
  expect(upstream.calls).toHaveLength(23);
  await until(idle);
});
