/** What the engine refuses to open, and what it says about itself when it has. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LlamaEngine } from "./engine.ts";
import { call, modelPath, promptOf, withEngine, words } from "./testing/kit.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "topas-open-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function refusal(path: string): Promise<{ code: string; message: string; down: boolean }> {
  const engine = new LlamaEngine({ modelPath: path, kvTokens: 256 });
  const error = await engine.start().then(
    () => new Error("opened"),
    (e: unknown) => e,
  );
  const { end } = await call(engine, promptOf(words(5, 1)));
  await engine.close();
  const { code, message } = error as { code: string; message: string };
  return { code, message, down: end.error?.code === "engine_lost" };
}

describe("refused with a typed error, and no process is left", () => {
  test("a file that is not there", async () => {
    const path = join(folder, "none.gguf");
    expect(await refusal(path)).toMatchObject({ code: "model_not_found", message: expect.stringContaining(path), down: true });
  });

  test("a file that is not GGUF", async () => {
    const path = join(folder, "text.gguf");
    await writeFile(path, "hello");
    expect(await refusal(path)).toMatchObject({ code: "model_not_gguf", down: true });
  });

  test("a GGUF file cut short", async () => {
    const path = join(folder, "cut.gguf");
    await writeFile(path, (await readFile(await modelPath("nano1m"))).subarray(0, 100_000));
    const { code, message } = await refusal(path);
    expect(code).toBe("model_load_failed");
    expect(message.length).toBeGreaterThan(path.length + 5);
  });
});

test("describes budget, speeds and what the weights are", async () => {
  await withEngine("nano1m", { kvTokens: 1000, mode: "fast", maxRunning: 5 }, async (engine) => {
    const description = engine.describe();
    expect(description).toMatchObject({
      engine: "llama",
      version: "0.4.0-dev",
      kvBudgetTokens: 1024,
      contextTokens: 1024,
      kvBytesPerToken: 1024,
      maxRunning: 5,
      hostTier: true,
      redo: "swap",
      keep: "enforced",
      residencySource: "own-books",
    });
    expect(description.notes).toContain("made model: random weights");
    expect(description.notes.join()).toMatch(/mode fast.*measured/);
    for (const speed of [description.prefillSecondsPerToken, description.decodeSecondsPerToken, description.copyBytesPerSecond]) {
      expect(speed).toBeGreaterThan(0);
    }
  });
});

test("start is one start however often it is asked for", async () => {
  const engine = new LlamaEngine({ modelPath: await modelPath("nano1m"), kvTokens: 256 });
  expect(() => engine.describe()).toThrow(/not started/);
  await expect(engine.prepare({ kind: "text", tenant: "t", prompt: "a" })).rejects.toMatchObject({ code: "engine_not_started" });
  const [a, b] = await Promise.all([engine.start(), engine.start()]);
  expect(a).toBe(b);
  await engine.close();
});
