import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { CoreEvent } from "@topas/core";
import { LlamaEngine, ensureModel } from "@topas/engines/llama";
import { startGateway, type RunningGateway } from "@topas/gateway";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const hasPython = ((): boolean => {
  try {
    return execFileSync("python3", ["--version"], { stdio: "pipe" }).length > 0;
  } catch {
    return false;
  }
})();

/** Every example as a user starts it, in its own process, all against one gateway; the proof is what the scheduler was told. */
describe("examples against the embedded engine", () => {
  let gateway: RunningGateway;
  const events: CoreEvent[] = [];
  const printed = new Map<string, Promise<string>>();

  beforeAll(async () => {
    const modelPath = await ensureModel("nano1m", mkdtempSync(join(tmpdir(), "topas-model-")));
    gateway = await startGateway({
      engine: new LlamaEngine({ modelPath, kvTokens: 2048 }),
      policy: "topas",
      host: "127.0.0.1",
      port: 0,
      keys: new Map(),
      logLevel: "silent",
      onEvent: (_state, event) => events.push(event),
    });
    const env = { ...process.env, TOPAS_URL: `${gateway.url}/v1` };
    const run = async (command: string, args: readonly string[]): Promise<string> =>
      (await promisify(execFile)(command, args, { cwd: root, env, timeout: 50_000 })).stdout;
    const node = ["--conditions=@topas/source", "--import", "tsx"];
    for (const name of ["langgraph", "openai-agents", "ai-sdk"])
      printed.set(name, run(process.execPath, [...node, `examples/${name}.ts`]));
    printed.set("picnic", run(process.execPath, [...node, "examples/openai-client.ts", env.TOPAS_URL]));
    if (hasPython) printed.set("python", run("python3", ["examples/python_headers.py"]));
    await Promise.allSettled(printed.values());
  }, 60_000);
  afterAll(() => gateway.close());

  const named = (id: string): string => /^\d+:default,\d+:(.*),$/.exec(id)?.[1] ?? id;
  const isOf = (prefix: string, task: string): boolean => new RegExp(`^${prefix}-\\d+$`).test(named(task));

  /** What the scheduler was told of the one task of this example, and what the example printed. Throws when it failed. */
  async function seen(prefix: string) {
    const out = await printed.get(prefix)!;
    const told = <K extends CoreEvent["kind"]>(kind: K) =>
      events.filter((e): e is Extract<CoreEvent, { kind: K }> => e.kind === kind);
    const ready = told("ready").filter((e) => isOf(prefix, e.request.task));
    expect(told("taskArrived").filter((e) => isOf(prefix, e.task.id))).toHaveLength(1);
    expect(told("taskDone").filter((e) => isOf(prefix, e.task))).toHaveLength(1);
    const finished = new Set(told("roundDone").map((e) => e.request));
    expect(ready.every((e) => finished.has(e.request.id))).toBe(true);
    return {
      out,
      workflow: told("taskArrived").find((e) => isOf(prefix, e.task.id))?.task.workflow ?? "",
      calls: ready.map(({ request }) => [request.stage, named(request.agent)]),
      graphs: told("graphRevealed").flatMap((e) => (isOf(prefix, e.task) ? [e.graph] : [])),
      waits: told("receiptUpdated").filter((e) => isOf(prefix, e.task) && e.hints.toolWaitEndSeconds !== undefined),
      done: told("stageDone").flatMap((e) => (isOf(prefix, e.task) ? [e.stage] : [])),
    };
  }

  it("langgraph: the graph, and both branches between research and write", async () => {
    const { out, workflow, calls, graphs } = await seen("langgraph");
    expect(named(workflow)).toBe("research");
    expect(graphs.map((graph) => graph.edges)).toEqual([
      [
        ["research", "papers"],
        ["research", "code"],
        ["papers", "write"],
        ["code", "write"],
      ],
    ]);
    expect(graphs[0]?.barrier).toBe(true);
    expect(calls).toHaveLength(4);
    expect([calls[0], calls[3]]).toEqual([
      ["research", "research"],
      ["write", "write"],
    ]);
    expect(new Set(calls.slice(1, 3).map(([stage]) => stage))).toEqual(new Set(["papers", "code"]));
    expect(out).toContain("stage write agent write: done");
  });

  it("openai-agents: one task, each call by its agent, no graph", async () => {
    const { out, calls, graphs } = await seen("openai-agents");
    expect(calls).toEqual([
      ["triage", "triage"],
      ["writer", "writer"],
    ]);
    expect(graphs).toEqual([]);
    expect(out).toContain("handed over by the program");
  });

  it("ai-sdk: stages, two rounds with a tool's wait between them, and their ends", async () => {
    const { calls, graphs, waits, done } = await seen("ai-sdk");
    expect(calls).toEqual([
      ["plan", "planner"],
      ["look", "scout"],
      ["look", "scout"],
      ["write", "writer"],
    ]);
    expect(graphs.map((graph) => graph.edges)).toEqual([
      [
        ["plan", "look"],
        ["look", "write"],
      ],
    ]);
    expect(waits.map((e) => e.stage)).toEqual(["look"]);
    expect(done).toEqual(["plan", "look"]);
  });

  it("openai-client: one task of two agents", async () => {
    const { calls } = await seen("picnic");
    expect(calls).toEqual([
      ["plan", "planner"],
      ["write", "writer"],
    ]);
  });

  it.skipIf(!hasPython)("python_headers.py (needs python3): three plain headers", async () => {
    const { out, calls } = await seen("python");
    expect(calls).toEqual([
      ["plan", "planner"],
      ["write", "writer"],
    ]);
    expect(out).toContain("'outcome': 'done', 'known': True");
  });
});
