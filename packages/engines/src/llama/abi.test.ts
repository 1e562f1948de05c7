import { describe, expect, test } from "vitest";
import { EngineError } from "../engine.ts";
import type { AbiFacts } from "./abi.ts";
import { checkAbi, EXPECTED_ABI, findLibraries, matchLibrary, packageSuffix } from "./abi.ts";

function refusal(facts: AbiFacts): EngineError {
  try {
    checkAbi(facts);
  } catch (error) {
    if (EngineError.isInstance(error)) return error;
  }
  throw new Error("not refused");
}

describe("ABI guard", () => {
  test("the known build passes, further defaults do not matter", () => {
    checkAbi({ ...EXPECTED_ABI, contextDefaults: { ...EXPECTED_ABI.contextDefaults, n_threads_batch: 4 } });
  });

  test.each<[string, AbiFacts, string]>([
    ["version", { ...EXPECTED_ABI, packageVersion: "3.22.1" }, "package.version: found 3.22.1, expected 3.21.1"],
    [
      "size",
      { ...EXPECTED_ABI, sizes: { ...EXPECTED_ABI.sizes, contextParams: 168 } },
      "sizeof.contextParams: found 168, expected 160",
    ],
    [
      "shifted field",
      { ...EXPECTED_ABI, contextDefaults: { ...EXPECTED_ABI.contextDefaults, type_k: 0 } },
      "context default.type_k: found 0, expected 1",
    ],
    ["missing default", { ...EXPECTED_ABI, modelDefaults: {} }, "model default.n_gpu_layers: found undefined, expected -1"],
  ])("refuses another %s, naming found and expected", (_name, facts, message) => {
    const error = refusal(facts);
    expect(error.code).toBe("llama_abi_mismatch");
    expect(error.message).toContain(message);
  });
});

describe("library files", () => {
  test.each([
    ["llama", ["libllama-common.so", "llama-addon.node", "libllama.v0.4.0.so"], "libllama.v0.4.0.so"],
    ["llama", ["libllama.metal.v0.4.0.dylib"], "libllama.metal.v0.4.0.dylib"],
    ["llama", ["llama.v0.4.0.dll"], "llama.v0.4.0.dll"],
    ["ggml", ["libggml-base.so", "libggml-cpu-x64.so", "libggml.v0.4.0.so"], "libggml.v0.4.0.so"],
    ["ggml", ["libggml.so"], undefined],
  ] as const)("%s among %j", (name, files, found) => {
    expect(matchLibrary(name, files)).toBe(found);
  });

  test("one package for each platform, none for the others", () => {
    expect(packageSuffix("linux", "x64")).toBe("linux-x64");
    expect(packageSuffix("darwin", "arm64")).toBe("mac-arm64-metal");
    expect(packageSuffix("aix", "ppc64")).toBeNull();
  });

  test("the installed package is the pinned one", () => {
    expect(findLibraries().packageVersion).toBe(EXPECTED_ABI.packageVersion);
  });
});
