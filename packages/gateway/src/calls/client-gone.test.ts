import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { answer, chat, createRig, rawPost, until, type Rig } from "../testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

const shapes = ["/v1/chat/completions", "/v1/completions"].flatMap((path) =>
  [true, false].map((isStream) => ({ path, isStream })),
);
const body = (isStream: boolean) => ({ ...chat({ stream: isStream }), prompt: "hi" });

test.each(shapes)(
  "K32, K33: running or queued, one cancel and one terminal event: $path stream=$isStream",
  async ({ path, isStream }) => {
    const lines: string[] = [];
    rig = await createRig({ log: { level: "info", stream: { write: (line) => lines.push(line) } } }, true);
    for (const where of ["running", "queued", "mid-answer"]) {
      rig.scheduler.slots = where === "queued" ? 0 : 4;
      const { socket } = rawPost(rig.port, path, body(isStream), { authorization: "Bearer sk-secret" });
      const before = rig.scheduler.cancelled.length;
      await until(() => (where === "queued" ? rig.scheduler.waiting.length : rig.scheduler.running.size) === 1);
      const call = rig.scheduler.calls.at(-1);
      if (where === "mid-answer") call?.sink.token?.(1, Buffer.from("a"));
      if (where === "mid-answer") await sleep(5);
      socket.destroy();
      const left = performance.now();
      await until(() => rig.scheduler.cancelled.length === before + 1);
      expect(performance.now() - left).toBeLessThan(200);
      expect(rig.scheduler.ends.get(call?.id ?? "")).toBe(1);
      expect(rig.scheduler.running.size + rig.scheduler.waiting.length).toBe(0);
      call?.sink.token?.(2, Buffer.from("late"));
    }
    expect(lines.map((line) => JSON.parse(line)).filter((line) => line.status === 499)).toHaveLength(3);
    expect(lines.join("")).not.toContain("sk-secret");
    const metrics = (await rig.app.inject({ url: "/metrics" })).body;
    expect(metrics).toContain(`topas_requests_total{route="${path}",status="499"} 3`);
    expect(metrics).toContain("topas_open_calls 0");
  },
);

test("K33: after a ping", async () => {
  rig = await createRig({ limits: { pingSeconds: 0.02 } }, true);
  rig.scheduler.slots = 0;
  const { socket, text } = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => text().includes(": ping"));
  socket.end();
  await until(() => rig.scheduler.cancelled.length === 1);
});

test("K33: while the prompt is being prepared, the call never reaches the queue", async () => {
  let release = (): void => {};
  let asked = false;
  const prepare = async () => {
    asked = true;
    await new Promise<void>((resolve) => (release = resolve));
    return { tokens: null, promptTokens: 1, exact: false, prefix: null };
  };
  rig = await createRig({ prepare }, true);
  const { socket } = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => asked);
  socket.destroy();
  await until(() => rig.app.server.listening && socket.closed);
  await sleep(20);
  release();
  await sleep(10);
  expect(rig.scheduler.calls).toEqual([]);
});

test("K34: the neighbour's bytes are what they are alone", async () => {
  rig = await createRig({}, true);
  const a = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => rig.scheduler.running.size === 1);
  const b = rawPost(rig.port, "/v1/chat/completions", chat({ stream: true }));
  await until(() => rig.scheduler.running.size === 2);
  a.socket.destroy();
  await until(() => rig.scheduler.cancelled.length === 1);
  expect(rig.scheduler.cancelled).toEqual([rig.scheduler.calls[0]?.id]);
  answer(["b1", "b2"])(rig.scheduler.calls[1] as never);
  await until(() => b.text().endsWith("0\r\n\r\n"));
  expect(b.text()).toContain('"content":"b2"');
  b.socket.destroy();
});

test("a kept-alive connection serves its next call after a finished one; leaving then cancels nothing", async () => {
  rig = await createRig({}, true);
  rig.scheduler.run = answer(["ok"]);
  const { socket, text } = rawPost(rig.port, "/v1/chat/completions", chat());
  await until(() => text().includes("ok"));
  const json = JSON.stringify(chat());
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
  );
  await until(() => rig.scheduler.calls.length === 2 && text().split("200 OK").length === 3);
  socket.destroy();
  await sleep(10);
  expect(rig.scheduler.cancelled).toEqual([]);
});
