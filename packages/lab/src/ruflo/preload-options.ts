import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** Flags that put receipts on the model calls of a Ruflo process (docs/ruflo.md); from a source checkout with the loader it needs. */
export function preloadOptions(): readonly string[] {
  if (!import.meta.url.endsWith(".ts")) return [`--import=${import.meta.resolve("@topas/receipt/ruflo/preload")}`];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const preload = new URL("../../../receipt/src/ruflo/preload.ts", import.meta.url).href;
  return ["--conditions=@topas/source", `--import=${loader}`, `--import=${preload}`];
}
