import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ScriptedEngine } from "@topas/engines";
import { expect, it } from "vitest";
import { startGateway } from "./start.ts";

it("one line a call, whatever its end, with the shadow's differences, and no text of anybody", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "topas-journal-")), "journal.jsonl");
  const gateway = await startGateway({
    engine: new ScriptedEngine({ kvTokens: 400, maxRunning: 2, stepMs: 0 }),
    policy: "fcfs",
    shadow: "random-o",
    journalFile: path,
    host: "127.0.0.1",
    port: 0,
    keys: new Map(),
  });
  const call = (i: number, signal?: AbortSignal): Promise<number> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-topas-task": `t${i}`, "x-topas-agent": `a${i % 2}` },
      body: JSON.stringify({
        max_tokens: 20,
        messages: [
          { role: "system", content: `agent ${i % 2} ${"secret-prefix ".repeat(40)}` },
          { role: "user", content: "secret-question" },
        ],
      }),
      ...(signal === undefined ? {} : { signal }),
    }).then(
      (r) => r.status,
      () => 0,
    );
  const leaves = new AbortController();
  const all = Promise.all([...Array.from({ length: 12 }, (_, i) => call(i)), call(12, leaves.signal)]);
  setImmediate(() => leaves.abort());
  await all;
  await gateway.close();
  const text = readFileSync(path, "utf8");
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({
    spec: "topas.journal/1",
    kind: "header",
    policy: "fcfs",
    shadow: "random-o",
    budgetTokens: 400,
  });
  const calls = lines.filter((line) => line["kind"] === "call");
  expect(calls.filter((line) => line["outcome"] === "done")).toHaveLength(12);
  expect(new Set(calls.map((line) => line["id"])).size).toBe(calls.length);
  for (const line of calls.filter((each) => each["outcome"] === "done"))
    expect(line).toMatchObject({ outputTokens: 20, maxTokens: 20, stage: "*" });
  expect(lines.some((line) => line["kind"] === "shadow" && line["policy"] === "random-o")).toBe(true);
  expect(text).not.toContain("secret");
});
