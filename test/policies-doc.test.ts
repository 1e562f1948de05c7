import { readFileSync } from "node:fs";
import { createPolicy, describePolicy, policyIds } from "@topas/core";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../docs/policies.md", import.meta.url), "utf8");

it("docs/policies.md has one heading for every policy id, in the registry's order, and none else", () => {
  const headings = [...page.matchAll(/^### `([^`]+)`$/gm)].map(([, id]) => id);
  expect(headings).toEqual(policyIds());
});

it("docs/policies.md says for every heading what the policy does, and names no option that does not exist", () => {
  for (const section of page.split(/^### /m).slice(1))
    expect(section.split("\n").slice(1).join(" ").trim().length).toBeGreaterThan(5);
  const options = new Set(Object.keys(describePolicy(createPolicy("fcfs")!).options));
  const named = page.match(/`[a-z]+[A-Z][A-Za-z]+`/g) ?? [];
  for (const name of named) expect(options).toContain(name.slice(1, -1));
});
