import { ScriptedEngine } from "@topas/engines";
import { afterEach, expect, it } from "vitest";
import { startGateway, type RunningGateway } from "./start.ts";
import { until } from "./testing/rig.ts";

let gateway: RunningGateway | null = null;
afterEach(async () => {
  await gateway?.close();
  gateway = null;
});

const ask = (task: string, stream: boolean, signal: AbortSignal | null = null): Promise<string> =>
  fetch(`${gateway!.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-topas-task": task, "x-topas-agent": "coder" },
    body: JSON.stringify({
      max_tokens: 4,
      stream,
      messages: [
        { role: "system", content: "you write code ".repeat(10) },
        { role: "user", content: `ask ${task}` },
      ],
    }),
    signal,
  }).then((response) => response.text());

it("a client whose patience ends while its call is held leaves nothing in the queue; its other calls are served", async () => {
  const engine = new ScriptedEngine({ stepMs: "manual", kvTokens: 400, maxRunning: 1 });
  gateway = await startGateway({ engine, policy: "topas-guarded", host: "127.0.0.1", port: 0, keys: new Map() });
  const { loop } = gateway;
  const first = ask("one", false);
  await until(() => loop.running.size === 1);
  const patience = new AbortController();
  const held = [true, false].map((stream) =>
    ask("held", stream, patience.signal).then(
      () => "answered",
      () => "gave up",
    ),
  );
  await until(() => loop.waiting.size === 2);
  patience.abort();
  expect(await Promise.all(held)).toEqual(["gave up", "gave up"]);
  await until(() => loop.waiting.size === 0);
  const again = ask("held", false);
  await until(() => loop.waiting.size === 1);
  await until(() => (engine.tick(), loop.running.size + loop.waiting.size === 0));
  for (const text of [await first, await again]) expect(JSON.parse(text).usage.completion_tokens).toBe(4);
  expect(loop.counters()).toMatchObject({ calls_total: 4, calls_finished_total: 2, calls_cancelled_total: 2 });
  expect(loop.snapshot().kv).toMatchObject({ running: 0, promised: 0, pendingFree: 0 });
});
