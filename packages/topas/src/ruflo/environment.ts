import { join } from "node:path";
import { preloadOptions } from "@topas/lab";

/**
 * Environment of a Ruflo process whose model calls go to the gateway at `url`. The preload is not in NODE_OPTIONS itself: every
 * Node program of that shell would load it.
 */
export function rufloEnvironment(folder: string, url: string): Readonly<Record<string, string>> {
  const modules = join(folder, "v3", "node_modules");
  return {
    RUFLO_PROVIDER: "openrouter",
    OPENROUTER_API_KEY: "local",
    OPENROUTER_BASE_URL: url.replace(/\/+$/, "").replace(/\/v1$/, ""),
    RUFLO_CLI_ROOT: join(modules, "@claude-flow", "cli"),
    RUFLO_BIN: join(modules, "ruflo", "bin", "ruflo.js"),
    TOPAS_PRELOAD: preloadOptions().join(" "),
  };
}

/** For `eval "$(…)"` in a POSIX shell. */
export function shellExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`)
    .join("\n");
}
