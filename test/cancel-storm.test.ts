import { ScriptedEngine } from "@topas/engines";
import { startGateway } from "@topas/gateway";
import { afterEach, expect, it } from "vitest";

let close: (() => Promise<void>) | null = null;
afterEach(async () => {
  await close?.();
  close = null;
});

it(
  "1,000 parallel streams, a third aborted at random, leave no request, reservation or sequence behind",
  { timeout: 60_000 },
  async () => {
    const engine = new ScriptedEngine({ kvTokens: 20_000, maxRunning: 64, chunkTokens: 2048, stepMs: 0 });
    const gateway = await startGateway({
      engine,
      policy: "topas",
      host: "127.0.0.1",
      port: 0,
      keys: new Map(),
      queueLimit: 2_000,
      logLevel: "silent",
    });
    close = () => gateway.close();
    let random = 7;
    const next = (): number => (random = (random * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
    let finished = 0;
    let aborted = 0;
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => {
        const controller = new AbortController();
        const leaves = i % 3 === 0;
        const after = Math.floor(next() * 300);
        const timer = leaves ? setTimeout(() => controller.abort(), after) : null;
        try {
          const response = await fetch(`${gateway.url}/v1/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json", "x-topas-task": `t${i % 100}`, "x-topas-agent": `a${i % 7}` },
            body: JSON.stringify({
              model: "scripted",
              stream: true,
              max_tokens: 20,
              messages: [
                { role: "system", content: `agent ${i % 7} ${"does careful work and ".repeat(10)}` },
                { role: "user", content: `question ${i}` },
              ],
            }),
            signal: controller.signal,
          });
          const text = await response.text();
          expect(text).toContain("data: [DONE]");
          finished++;
        } catch (error) {
          if (!controller.signal.aborted) throw error;
          aborted++;
        } finally {
          if (timer !== null) clearTimeout(timer);
        }
      }),
    );
    expect(finished + aborted).toBe(1_000);
    expect(finished).toBeGreaterThanOrEqual(666);
    for (let i = 0; i < 200 && gateway.loop.running.size + gateway.loop.waiting.size > 0; i++)
      await new Promise((r) => setTimeout(r, 10));
    const state = gateway.loop.snapshot();
    expect(state.waiting).toEqual([]);
    expect(state.running).toEqual([]);
    expect(state.kv.promised).toBe(0);
    expect(state.kv.running).toBe(0);
    expect(state.entries.reduce((n, e) => n + e.users, 0)).toBe(0);
    expect(engine.state.jobs.size).toBe(0);
    const c = gateway.loop.counters();
    expect((c["calls_finished_total"] ?? 0) + (c["calls_cancelled_total"] ?? 0) + (c["calls_failed_total"] ?? 0)).toBe(
      c["calls_total"],
    );
    expect(c["calls_failed_total"]).toBe(0);
    expect(c["scheduler_errors_total"]).toBe(0);
  },
);
