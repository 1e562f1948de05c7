import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

interface Bundler {
  readonly build: (options: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

/**
 * What a thread runs. In a source checkout it is bundled into `folder` first, with the bundler of the checkout's own loader:
 * a loader in every thread would cost each of them 0.9 s and 60 MB, which is more than the engine it holds.
 */
export async function workerEntry(folder: string): Promise<URL> {
  if (!import.meta.url.endsWith(".ts")) return new URL("./worker.js", import.meta.url);
  const loader = createRequire(import.meta.url).resolve("tsx");
  const { build } = createRequire(loader)("esbuild") as Bundler;
  const outfile = join(folder, "worker.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("./worker.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@topas/source"],
    logLevel: "silent",
  });
  return pathToFileURL(outfile);
}
