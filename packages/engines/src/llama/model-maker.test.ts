import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readGgufHeader } from "./gguf.ts";
import { defaultCacheDir, ensureModel, MADE_MODELS, wordText } from "./model-maker.ts";

const sha256 = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

describe("model maker", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "topas-maker-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test.each(["nano1m", "tiny5m"] as const)("%s: same recipe, same bytes, and the file says what it is", async (name) => {
    const [one, two] = await Promise.all([ensureModel(name, join(dir, "a")), ensureModel(name, join(dir, "b"))]);
    expect(await sha256(one)).toBe(await sha256(two));
    const header = await readGgufHeader(one);
    expect(header.pairs.get("general.name")).toBe(`${name} random weights (made by topas)`);
    expect(header.pairs.get("llama.block_count")).toBe(MADE_MODELS[name].layers);
    expect(header.pairs.get("tokenizer.ggml.tokens")).toBe(MADE_MODELS[name].vocab);
    expect(header.pairs.get("tokenizer.ggml.add_space_prefix")).toBe(false);
    expect(header.tensorCount).toBe(2 + 9 * MADE_MODELS[name].layers);
    expect(header.dataOffset % 32).toBe(0);
  });

  test("a whole file is kept, a cut or foreign one is replaced, no temporary file stays", async () => {
    const path = await ensureModel("nano1m", join(dir, "c"));
    const [hash, made] = [await sha256(path), await stat(path)];
    await ensureModel("nano1m", join(dir, "c"));
    expect((await stat(path)).ino).toBe(made.ino);
    await truncate(path, 500_000);
    await ensureModel("nano1m", join(dir, "c"));
    expect(await sha256(path)).toBe(hash);
    await writeFile(path, "not a model");
    await ensureModel("nano1m", join(dir, "c"));
    expect(await sha256(path)).toBe(hash);
    expect(await readdir(join(dir, "c"))).toHaveLength(1);
  });

  test("makers that race leave one whole file", async () => {
    const paths = await Promise.all(Array.from({ length: 4 }, () => ensureModel("nano1m", join(dir, "race"))));
    expect(new Set(paths).size).toBe(1);
    expect(await readdir(join(dir, "race"))).toHaveLength(1);
  });

  test("unknown names and unreadable files are typed errors", async () => {
    await expect(ensureModel("gpt9", dir)).rejects.toMatchObject({ name: "EngineError", code: "model_unknown" });
    const path = join(dir, "short.gguf");
    await writeFile(path, "GGUF");
    await expect(readGgufHeader(path)).rejects.toMatchObject({ code: "model_invalid" });
  });

  test("words are padded, the cache directory follows the environment", () => {
    expect(wordText(7, 3) + wordText(12, 4)).toBe(" w007 w0012");
    expect(defaultCacheDir({ TOPAS_CACHE: join("/", "t"), XDG_CACHE_HOME: join("/", "x") })).toBe(join("/", "t"));
    expect(defaultCacheDir({ XDG_CACHE_HOME: join("/", "x") })).toBe(join("/", "x", "topas"));
    expect(defaultCacheDir({})).toMatch(/\.cache.topas$/);
  });
});
