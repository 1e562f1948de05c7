/**
 * Where the prebuilt llama.cpp lies, and whether it is the build our struct layouts were written for.
 * Layouts and defaults: a C compiler on the v0.4.0 header. A shifted field shows as a wrong default before it can corrupt memory.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EngineError } from "../engine.ts";

/** The one package version whose struct layouts we know. */
export const PINNED_PACKAGE_VERSION = "3.21.1";

/** What {@link checkAbi} compares: read from the library in production, written by hand in tests. */
export interface AbiFacts {
  readonly packageVersion: string;
  /** Bytes. */
  readonly sizes: { readonly batch: number; readonly modelParams: number; readonly contextParams: number };
  readonly modelDefaults: Readonly<Record<string, unknown>>;
  readonly contextDefaults: Readonly<Record<string, unknown>>;
}

export const EXPECTED_ABI: AbiFacts = {
  packageVersion: PINNED_PACKAGE_VERSION,
  sizes: { batch: 56, modelParams: 80, contextParams: 160 },
  modelDefaults: { n_gpu_layers: -1, split_mode: 1, load_mode: -1, lazy_mode: 1, use_extra_bufts: true },
  contextDefaults: {
    n_ctx: 512,
    n_batch: 2048,
    n_ubatch: 512,
    n_seq_max: 1,
    n_outputs_max_per_seq: 1,
    n_threads: 4,
    ctx_type: 0,
    rope_scaling_type: -1,
    pooling_type: -1,
    attention_type: -1,
    flash_attn_type: -1,
    yarn_ext_factor: -1,
    defrag_thold: -1,
    type_k: 1,
    type_v: 1,
    offload_kqv: true,
    no_perf: true,
    op_offload: true,
    swa_full: true,
    kv_unified: false,
  },
};

/**
 * Compares a loaded library with the build we know.
 * @throws EngineError `llama_abi_mismatch`, naming every value found and expected.
 */
export function checkAbi(found: AbiFacts, expected: AbiFacts = EXPECTED_ABI): void {
  const wrong: string[] = [];
  const compare = (where: string, a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): void => {
    for (const [key, want] of Object.entries(b)) {
      if (a[key] !== want) wrong.push(`${where}.${key}: found ${String(a[key])}, expected ${String(want)}`);
    }
  };
  compare("package", { version: found.packageVersion }, { version: expected.packageVersion });
  compare("sizeof", found.sizes, expected.sizes);
  compare("model default", found.modelDefaults, expected.modelDefaults);
  compare("context default", found.contextDefaults, expected.contextDefaults);
  if (wrong.length > 0) {
    throw new EngineError(
      "llama_abi_mismatch",
      `this llama.cpp build is not the one this version was written for: ${wrong.join("; ")}`,
    );
  }
}

/** Prebuilt package suffix by Node's platform and architecture; the CPU build except on Apple silicon. */
export function packageSuffix(platform: string, arch: string): string | null {
  const names: Readonly<Record<string, string>> = {
    "linux-x64": "linux-x64",
    "linux-arm64": "linux-arm64",
    "linux-arm": "linux-armv7l",
    "darwin-arm64": "mac-arm64-metal",
    "darwin-x64": "mac-x64",
    "win32-x64": "win-x64",
  };
  return names[`${platform}-${arch}`] ?? null;
}

/** The library of that name among the file names of a package (not `libllama-common`, not the node addon); undefined if none. */
export function matchLibrary(name: "llama" | "ggml", files: readonly string[]): string | undefined {
  const pattern = new RegExp(`^(lib)?${name}\\.(\\w+\\.)?v\\d`);
  return files.find((file) => pattern.test(file));
}

export interface LibraryPlace {
  readonly packageName: string;
  readonly packageVersion: string;
  /** Folder with the libraries and the CPU variants chosen at run time. */
  readonly folder: string;
  readonly llama: string;
  readonly ggml: string;
}

/**
 * Finds the prebuilt libraries for this machine.
 * @throws EngineError `llama_package_missing` (names the package to install) or `llama_abi_mismatch` (unknown file names).
 */
export function findLibraries(): LibraryPlace {
  const suffix = packageSuffix(process.platform, process.arch);
  if (suffix === null) {
    throw new EngineError("llama_package_missing", `no prebuilt llama.cpp for ${process.platform}-${process.arch}`);
  }
  const packageName = `@node-llama-cpp/${suffix}`;
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(packageName);
  } catch (cause) {
    const message = `${packageName} is not installed; run: npm install ${packageName}@${PINNED_PACKAGE_VERSION} koffi@3.3.4`;
    throw new EngineError("llama_package_missing", message, 500, { cause });
  }
  const root = join(dirname(entry), "..");
  const folder = join(root, "bins", suffix);
  const files = readdirSync(folder);
  const llama = matchLibrary("llama", files);
  const ggml = matchLibrary("ggml", files);
  if (llama === undefined || ggml === undefined) {
    throw new EngineError("llama_abi_mismatch", `${packageName}: no versioned llama and ggml library among ${files.join(", ")}`);
  }
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  return { packageName, packageVersion: version, folder, llama: join(folder, llama), ggml: join(folder, ggml) };
}
