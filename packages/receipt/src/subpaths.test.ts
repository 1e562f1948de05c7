import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** A user of one orchestrator has none of the others, and may run where Node's own modules are not. */
it.each(["langgraph.ts", "openai-agents.ts", "ai-sdk.ts"])(
  "%s pulls no dependency: values come from this folder alone",
  (entry) => {
    const seen = new Set<string>();
    const open = [new URL(entry, import.meta.url).href];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      for (const [, from = ""] of readFileSync(new URL(at), "utf8").matchAll(
        /^(?:import|export) (?!type\b)[^;]*? from "([^"]+)"/gm,
      )) {
        expect(from).toMatch(/^\.{1,2}\/[\w/-]+\.ts$/);
        open.push(new URL(from, at).href);
      }
    }
    expect(seen.size).toBeGreaterThan(1);
  },
);

it("docs/orchestrators.md names the versions that are run here", () => {
  const page = readFileSync(new URL("../../../docs/orchestrators.md", import.meta.url), "utf8");
  const root = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  const named = [
    "@langchain/langgraph",
    "@langchain/core",
    "@langchain/openai",
    "@openai/agents",
    "openai",
    "ai",
    "@ai-sdk/openai-compatible",
  ];
  for (const name of named) expect(page).toContain(`\`${name}\` ${root.devDependencies[name]}`);
});
