/** The engine process dies in every way it can: calls end once, the next process serves. And it never outlives its parent. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { EngineEvent } from "../engine.ts";
import { call, modelPath, nextEvent, promptOf, startEngine, words } from "./testing/kit.ts";

describe.each(["SIGKILL", "SIGABRT"] as const)("%s", (signal) => {
  test("live calls end with engine_lost, retryable only if nothing was streamed", async () => {
    const engine = await startEngine("nano1m", { mode: "fast", restartDelayMs: 1, chunkTokens: 8 });
    const events: EngineEvent["kind"][] = [];
    engine.subscribe(({ kind }) => kind !== "step" && events.push(kind));
    try {
      const ready = nextEvent(engine, "ready");
      const lost = nextEvent(engine, "lost");
      const waiting: Promise<unknown>[] = [];
      const streaming = call(engine, promptOf(words(20, 1)), {
        maxTokens: 900,
        onToken: (n) => {
          if (n !== 3) return;
          waiting.push(
            call(engine, promptOf(words(300, 2))).then((o) => {
              expect(o.end).toMatchObject({ reason: "failed", error: { code: "engine_lost", status: 503, retryable: true } });
            }),
          );
          process.kill(engine.pid ?? 0, signal);
        },
      });
      const { end, tokens } = await streaming;
      expect(end).toMatchObject({ reason: "failed", error: { code: "engine_lost", retryable: false } });
      expect(end.usage.completionTokens).toBe(tokens.length);
      await Promise.all(waiting);
      expect((await lost).message).toContain(signal);
      // While it is down a call is turned away at once and may be retried.
      const early = await call(engine, promptOf(words(5, 3)));
      expect(early.end).toMatchObject({ reason: "failed", error: { code: "engine_lost", retryable: true } });
      expect((await ready).description.kvBudgetTokens).toBe(1024);
      expect((await call(engine, promptOf(words(5, 3)))).end.reason).toBe("length");
      expect(events).toEqual(["lost", "ready"]);
    } finally {
      await engine.close();
    }
  });
});

test("commands and questions to a dead process are answered, and closing it is quick", async () => {
  const engine = await startEngine("nano1m", { mode: "fast", restartDelayMs: 60_000 });
  const asked = engine.apply([{ op: "load", entry: "prefix:unheard-of" }]);
  expect((await asked)[0]?.outcome).toBe("unknownId");
  const lost = nextEvent(engine, "lost");
  process.kill(engine.pid ?? 0, "SIGKILL");
  await lost;
  expect((await engine.apply([{ op: "rank", order: [] }]))[0]?.outcome).toBe("unknownId");
  await expect(engine.inspect()).rejects.toMatchObject({ code: "engine_lost" });
  await expect(engine.prepare({ kind: "text", tenant: "t", prompt: "a" })).rejects.toMatchObject({ code: "engine_lost" });
  await engine.close();
  await expect(engine.start()).rejects.toMatchObject({ code: "engine_closed" });
});

test("a stopped process is found by the watchdog and replaced", async () => {
  const engine = await startEngine("nano1m", { mode: "fast", restartDelayMs: 1, hangMs: 300 });
  try {
    const ready = nextEvent(engine, "ready");
    const lost = nextEvent(engine, "lost");
    process.kill(engine.pid ?? 0, "SIGSTOP");
    const { end } = await call(engine, promptOf(words(5, 1)));
    expect(end.error?.code).toBe("engine_lost");
    expect((await lost).message).toContain("no sign of life");
    await ready;
  } finally {
    await engine.close();
  }
});

test("closing cancels what runs, once", async () => {
  const engine = await startEngine("nano1m", { mode: "fast" });
  const running = call(engine, promptOf(words(20, 1)), { maxTokens: 900 });
  await Promise.all([engine.close(), engine.close()]);
  expect((await running).end.reason).toBe("cancelled");
  expect(engine.pid).toBeUndefined();
});

test("the process goes when its parent goes", async () => {
  const script = `
    import { LlamaEngine } from ${JSON.stringify(fileURLToPath(new URL("./engine.ts", import.meta.url)))};
    const engine = new LlamaEngine({ modelPath: ${JSON.stringify(await modelPath("nano1m"))}, kvTokens: 256 });
    engine.start().then(() => console.log(engine.pid));`;
  const parent = spawn(process.execPath, ["--conditions=@topas/source", "--import", "tsx", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: fileURLToPath(new URL(".", import.meta.url)),
  });
  const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (d: Buffer) => resolve(Number(d.toString()))));
  expect(pid).toBeGreaterThan(0);
  parent.kill("SIGKILL");
  const alive = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(alive, { timeout: 5_000 }).toBe(false);
});
