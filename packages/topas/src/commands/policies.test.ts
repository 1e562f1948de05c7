import { createPolicy, describePolicy, policyIds } from "@topas/core";
import { Command } from "commander";
import { expect, it, vi } from "vitest";
import { policiesCommand, policyTable } from "./policies.ts";

function run(...flags: string[]): string {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const program = new Command();
  policiesCommand(program);
  program.parse(["node", "topas", "policies", ...flags]);
  log.mockRestore();
  return lines.join("\n");
}

it("prints one line a policy, aligned, with parts and the options it reads", () => {
  const lines = run().split("\n");
  expect(lines.slice(1, 1 + policyIds().length).map((line) => line.split(" ")[0])).toEqual(policyIds());
  const at = lines[0]!.indexOf("order");
  for (const line of lines.slice(1, 1 + policyIds().length)) expect(line.slice(at - 2, at)).toBe("  ");
  expect(lines.find((line) => line.startsWith("lpm-age "))).toMatch(/lpm-age +mean +lru +overflow .*fit=stop tokensPerPass=256/);
  expect(lines.find((line) => line.startsWith("topas-guarded "))).toContain("victimGuard=young:0.5,times:2");
  expect(lines.find((line) => line.startsWith("oracle-srpt "))).toMatch(/^oracle-srpt \*/);
});

it("--json is an array of PolicyInfo, --variants adds the suffixed ids", () => {
  expect(JSON.parse(run("--json"))).toEqual(
    JSON.parse(JSON.stringify(policyIds().map((id) => describePolicy(createPolicy(id)!)))),
  );
  const ids = (JSON.parse(run("--json", "--variants")) as { id: string }[]).map(({ id }) => id);
  expect(ids).toEqual(policyIds({ variants: true }));
  expect(ids).toContain("lpm-task-g");
  expect(policyTable([])).toContain("policy");
});
