import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installFromEnvironment } from "./environment.ts";
import { installReceipts, type RufloReceipts } from "./install.ts";
import { parseGraph } from "../parse.ts";
import { hearing, type Heard } from "./testing/heard.ts";
import { standInV3, type StandIn } from "./testing/stand-in.ts";

const GATEWAY = "http://gateway.test";
const native = globalThis.fetch;
let folder = "";
let installed: RufloReceipts | null = null;
const logged: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "topas-ruflo-test-"));
  logged.length = 0;
});
afterEach(() => {
  installed?.uninstall();
  installed = null;
  globalThis.fetch = native;
  rmSync(folder, { recursive: true, force: true });
});

function open(answer?: Parameters<typeof hearing>[0], gateway = GATEWAY): { heard: Heard; engine: StandIn } {
  const heard = hearing(answer);
  globalThis.fetch = heard.fetch;
  const engine = standInV3(folder, GATEWAY);
  installed = installReceipts(engine.workflowModule, engine.typesModule, {
    gateway: () => gateway,
    log: (message) => void logged.push(message),
  });
  return { heard, engine };
}

const task = (name: string, agentId: string, config: Record<string, unknown> = {}) => ({
  name,
  type: "task",
  config: { agentId, systemPrompt: `You are ${agentId}.`, prompt: `[[${name}]] {{lastStepOutput}}`, ...config },
});
const receipts = ({ calls }: Heard) => calls.map(({ receipt }) => receipt!);
const stages = (heard: Heard) => receipts(heard).map(({ stage }) => stage);

describe("receipts of a v3 chain", () => {
  it("carry the graph, rising revisions, the stage among the ready ones, and a path that shrinks to the last call", async () => {
    const { heard, engine } = open();
    const steps = [
      task("plan", "lead"),
      task("code", "coder"),
      { name: "build", type: "wait", config: { ms: 5 } },
      task("fix", "coder"),
    ];
    const id = engine.create("feature", steps);
    expect(await engine.execute(id)).toMatchObject({ status: "completed" });

    const sent = receipts(heard);
    expect(stages(heard)).toEqual(["plan", "code", "fix"]);
    expect(sent.map(({ agent }) => agent)).toEqual(["lead", "coder", "coder"]);
    expect(sent.map(({ remainingPath }) => remainingPath?.value)).toEqual([3, 2, 1]);
    expect(sent.map(({ remainingPath }) => remainingPath?.source)).toEqual(["declared", "declared", "declared"]);
    expect(sent.map(({ final }) => final)).toEqual([false, false, true]);
    expect(sent.map(({ nextAgents }) => nextAgents)).toEqual([["coder"], ["coder"], []]);
    for (const [i, receipt] of sent.entries()) {
      expect(receipt).toMatchObject({ taskId: id, workflowId: "feature", graph: sent[0]!.graph });
      expect(receipt.readyStages).toContain(receipt.stage);
      if (i > 0) expect(receipt.revision).toBeGreaterThan(sent[i - 1]!.revision!);
    }
    expect(sent[0]!.graph).toEqual({
      stages: [
        { id: "plan", agent: "lead" },
        { id: "code", agent: "coder" },
        { id: "fix", agent: "coder" },
      ],
      edges: [
        ["plan", "code"],
        ["code", "fix"],
      ],
    });
    expect(sent[1]!.prefix!.id).toBe(sent[2]!.prefix!.id);
    expect(sent[0]!.prefix!.id).not.toBe(sent[1]!.prefix!.id);
  });

  it("a tool wait is told beside the calls; the last call needs no word of its own", async () => {
    const { heard, engine } = open();
    const before = Date.now();
    await engine.execute(
      engine.create("w", [task("a", "x"), { name: "tool", type: "wait", config: { ms: 30 } }, task("b", "x")]),
    );
    expect(heard.beside.map(({ path }) => path)).toEqual(["/v1/receipts"]);
    const wait = heard.beside[0]!.body as { stage: string; revision: number; toolWait: { expectedEnd: number } };
    expect(wait).toMatchObject({ spec: "topas.receipt/1", authority: "none", stage: "a", revision: 2 });
    expect(wait.toolWait.expectedEnd).toBeGreaterThanOrEqual(before + 30);
  });

  it("a graph too large for a header is declared once, under a name of its own shape", async () => {
    const { heard, engine } = open();
    const long = Array.from({ length: 80 }, (_, i) => task(`a stage with a long name, number ${i}`, "coder"));
    await engine.execute(engine.create("long", long));
    const put = heard.beside.filter(({ path }) => path.startsWith("/v1/workflows/"));
    const { workflowId } = receipts(heard)[0]!;
    expect(workflowId).toMatch(/^long#[0-9a-f]{12}$/);
    expect(put.map(({ path }) => path)).toEqual([`/v1/workflows/${encodeURIComponent(workflowId!)}`]);
    expect(parseGraph(put[0]!.body)).toMatchObject({ ok: true });
    expect(receipts(heard).every((receipt) => receipt.graph === undefined && receipt.workflowId === workflowId)).toBe(true);
    expect(stages(heard)).toEqual(long.map(({ name }) => name));
  });

  it("a failed call ends the task as cancelled; what is run again is another task", async () => {
    const { heard, engine } = open((_, call) => (call === 1 ? { status: 503 } : "ok"));
    const id = engine.create("f", [task("a", "x"), task("b", "x"), task("c", "x")]);
    expect(await engine.execute(id)).toMatchObject({ status: "failed" });
    expect(heard.beside).toEqual([{ path: `/v1/tasks/${id}/finish`, body: { outcome: "cancelled" } }]);
    expect(await engine.execute(id, { startFromStep: 1 })).toMatchObject({ status: "completed" });
    const tasks = receipts(heard).map(({ taskId }) => taskId);
    expect(new Set(tasks).size).toBe(2);
    expect(tasks.slice(0, 2)).toEqual([id, id]);
    expect(stages(heard)).toEqual(["a", "b", "b", "c"]);
  });
});

describe("receipts of a v3 loop", () => {
  const gate = (more: object = {}) => ({
    name: "gate",
    type: "condition",
    config: { when: "lastStepOutput === 'DONE'", elseStep: 0, ...more },
  });
  const steps = (more?: object) => [task("work", "coder"), task("judge", "lead"), gate(more), task("write", "writer")];

  it("name the same stages each round and declare the loop; the path is the least that is left", async () => {
    let round = 0;
    const { heard, engine } = open((prompt) => (prompt.startsWith("[[judge]]") && (round += 1) === 3 ? "DONE" : "more"));
    await engine.execute(engine.create("loop", steps({ rounds: { max: 6, mean: 2.5 } })));
    expect(stages(heard)).toEqual(["work", "judge", "work", "judge", "work", "judge", "write"]);
    const sent = receipts(heard);
    expect(sent[0]!.graph!.loops).toEqual([{ stages: ["work", "judge"], max: 6, mean: 2.5 }]);
    expect(sent[0]!.graph!.edges).toEqual([
      ["work", "judge"],
      ["judge", "work"],
      ["judge", "write"],
    ]);
    expect(sent.map(({ final }) => final)).toEqual([false, false, false, false, false, false, true]);
    for (const [i, { remainingPath }] of sent.entries()) {
      expect(remainingPath!.value).toBeLessThanOrEqual(sent.length - i);
      expect(remainingPath!.source).toBe(i < 6 ? "inferred" : "declared");
    }
    expect(sent[0]!.prefix!.id).toBe(sent[2]!.prefix!.id);
  });

  it("a loop without a declared bound gets the default one", async () => {
    const { heard, engine } = open((prompt) => (prompt.startsWith("[[judge]]") ? "DONE" : "more"));
    await engine.execute(engine.create("loop", steps()));
    expect(receipts(heard)[0]!.graph!.loops).toEqual([{ stages: ["work", "judge"], max: 10, mean: 3 }]);
  });

  it("a branch that was passed is skipped", async () => {
    const { heard, engine } = open(() => "DONE");
    const jump = { name: "enough", type: "condition", config: { when: "lastStepOutput === 'DONE'", thenStep: 3 } };
    await engine.execute(engine.create("branch", [task("a", "x"), jump, task("extra", "x"), task("end", "x")]));
    expect(stages(heard)).toEqual(["a", "end"]);
    expect(receipts(heard)[1]!.status).toEqual([{ stage: "extra", state: "skipped" }]);
  });
});

describe("six workflows at once in one folder and process", () => {
  it("every call has the receipt of its own task and stage", async () => {
    const { heard, engine } = open((prompt, call) => (prompt.includes("judge") && call % 3 === 0 ? "DONE" : "more"));
    const ids = Array.from({ length: 6 }, (_, i) =>
      engine.create(`w${i}`, [
        task(`${i}-work`, "coder"),
        task(`${i}-judge`, "lead"),
        { name: "gate", type: "condition", config: { when: "lastStepOutput === 'DONE'", elseStep: 0 } },
        task(`${i}-write`, "writer"),
      ]),
    );
    await Promise.all(ids.map((id) => engine.execute(id)));
    expect(heard.calls.length).toBeGreaterThanOrEqual(18);
    for (const { receipt, prompt } of heard.calls) {
      expect(prompt.startsWith(`[[${receipt!.stage!}]]`)).toBe(true);
      expect(receipt!.taskId).toBe(ids[Number(receipt!.stage![0])]);
    }
  });
});

describe("agents and prefixes", () => {
  it("one agent with two system texts counts as two", async () => {
    const { heard, engine } = open();
    await engine.execute(
      engine.create("two", [task("a", "coder", { systemPrompt: "One." }), task("b", "coder", { systemPrompt: "Two." })]),
    );
    expect(receipts(heard).map(({ agent }) => agent)).toEqual(["coder/a", "coder/b"]);
  });

  it("a prefix that is new every time is called unstable", async () => {
    const { heard, engine } = open();
    const steps = Array.from({ length: 4 }, (_, i) => task(`s${i}`, `agent`, { systemPrompt: `It is ${i} o'clock.` }));
    for (let i = 0; i < 4; i++) await engine.execute(engine.create(`clock${i}`, [steps[i]!]));
    expect(receipts(heard).map(({ prefix }) => prefix!.stable)).toEqual([true, true, false, false]);
  });
});

describe("without receipts", () => {
  it("switched off by the environment nothing is touched", async () => {
    const heard = hearing();
    globalThis.fetch = heard.fetch;
    expect(await installFromEnvironment({ TOPAS_RECEIPTS: "off" }, (line) => void logged.push(line))).toBeNull();
    expect(globalThis.fetch).toBe(heard.fetch);
    const engine = standInV3(folder, GATEWAY);
    await engine.execute(engine.create("x", [task("a", "x")]));
    expect(heard.calls).toEqual([{ receipt: null, prompt: "[[a]] " }]);
    expect(logged).toEqual([]);
  });

  it("no engine where one was named: one line, and nothing is touched", async () => {
    expect(await installFromEnvironment({ RUFLO_CLI_ROOT: folder }, (line) => void logged.push(line))).toBeNull();
    expect(globalThis.fetch).toBe(native);
    expect(logged).toEqual(["off, no Ruflo engine found: set RUFLO_CLI_ROOT to the folder of @claude-flow/cli"]);
  });

  it("an engine of another shape is refused before anything is replaced", () => {
    const { typesModule, workflowModule } = standInV3(folder, GATEWAY);
    const gateway = () => GATEWAY;
    expect(() => installReceipts({}, typesModule, { gateway })).toThrow("exports no workflowTools");
    expect(() => installReceipts(workflowModule, {}, { gateway })).toThrow("exports no getProjectCwd");
    expect(() => installReceipts({ workflowTools: [] }, typesModule, { gateway })).toThrow("has no handler");
    expect(globalThis.fetch).toBe(native);
  });

  it("calls to another server, calls outside a workflow and other requests go out as they came", async () => {
    const { heard, engine } = open(undefined, "http://elsewhere.test");
    await engine.execute(engine.create("x", [task("a", "x")]));
    const init = { method: "POST", body: JSON.stringify({ messages: [{ role: "user", content: "hi" }] }) };
    await fetch(`${GATEWAY}/v1/chat/completions`, init);
    expect(receipts(heard)).toEqual([null, null]);
  });

  it("a store that cannot be read costs one call its receipt, and no call its answer", async () => {
    const heard = hearing((prompt) => (prompt.startsWith("[[judge]]") ? "DONE" : "more"));
    globalThis.fetch = heard.fetch;
    const engine = standInV3(folder, GATEWAY);
    let reads = 0;
    const getProjectCwd = (): string => {
      if ((reads += 1) > 1) throw new Error("the folder is gone");
      return folder;
    };
    installed = installReceipts(
      engine.workflowModule,
      { getProjectCwd },
      { gateway: () => GATEWAY, log: (line) => void logged.push(line) },
    );
    const gate = { name: "gate", type: "condition", config: { when: "lastStepOutput === 'DONE'", elseStep: 0 } };
    const id = engine.create("x", [task("work", "a"), task("judge", "b"), gate, task("write", "c")]);
    expect(await engine.execute(id)).toMatchObject({ status: "completed" });
    expect(heard.calls.map(({ receipt }) => receipt?.stage ?? null)).toEqual(["work", "judge", null]);
    expect(logged).toEqual(["Error: the folder is gone"]);
    expect(await engine.execute("nobody")).toEqual({ error: "Workflow not found" });
  });
});
