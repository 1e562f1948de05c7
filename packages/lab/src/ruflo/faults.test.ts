import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installReceipts, type RufloReceipts } from "@topas/receipt/ruflo";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { standInV3, type StandIn } from "../../../receipt/src/ruflo/testing/stand-in.ts";
import { openRig, type Rig, type RigOptions } from "./testing/rig.ts";

const native = globalThis.fetch;
let folder = "";
let rig: Rig | null = null;
let installed: RufloReceipts | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "topas-ruflo-test-"));
});
afterEach(async () => {
  installed?.uninstall();
  globalThis.fetch = native;
  await rig?.gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A stand-in of the v3 engine whose calls go to a real gateway. */
async function open(
  options: RigOptions = {},
  send: (rig: Rig) => typeof fetch = () => native,
): Promise<{ at: Rig; engine: StandIn }> {
  const at = await openRig(options);
  rig = at;
  globalThis.fetch = send(at);
  const { url } = at.gateway;
  const engine = standInV3(folder, url);
  installed = installReceipts(engine.workflowModule, engine.typesModule, { gateway: () => url });
  return { at, engine };
}

const task = (name: string, agentId: string, config: object = {}) => ({
  name,
  type: "task",
  config: { agentId, prompt: name, ...config },
});

describe("what goes wrong with a Ruflo workflow, as the gateway sees it", () => {
  it("a client that gives up while its call is held ends its task, and nobody else's", async () => {
    const { at, engine } = await open({ script: (maxTokens) => (maxTokens === 99 ? { stallAfter: 0 } : undefined) });
    const held = engine.create("held", [
      task("first", "a"),
      task("held", "b", { maxTokens: 99, timeoutMs: 150 }),
      task("never", "a"),
    ]);
    const other = engine.create("other", [task("x", "a"), task("y", "b")]);
    const [lost, well] = await Promise.all([engine.execute(held), engine.execute(other)]);
    expect(lost["status"]).toBe("failed");
    expect(well["status"]).toBe("completed");
    await at.until(() => at.count("tasks") === 0);
    expect(at.count("calls_cancelled_total")).toBe(1);
    expect(at.count("calls_finished_total")).toBe(3);
    expect(at.gateway.loop.snapshot()).toMatchObject({ waiting: [], running: [] });
  });

  it("a loop that never ends passes its declared bound, earns nothing more, and others finish beside it", async () => {
    let left = 12;
    const { at, engine } = await open({}, () => (input, init) => {
      if (typeof init?.body === "string" && init.body.includes("forever") && left-- <= 0)
        throw new Error("the operator pulls the plug");
      return native(input, init);
    });
    const gate = {
      name: "gate",
      type: "condition",
      config: { when: "lastStepOutput === 'DONE'", elseStep: 0, rounds: { max: 2, mean: 2 } },
    };
    const endless = engine.create("endless", [task("forever", "a"), task("forever judge", "b"), gate, task("never", "c")]);
    const other = engine.create("other", [task("x", "a"), task("y", "b"), task("z", "c")]);
    const [lost, well] = await Promise.all([engine.execute(endless), engine.execute(other)]);
    expect(lost["status"]).toBe("failed");
    expect(well["status"]).toBe("completed");
    expect(at.seen.filter(({ task: id }) => id === endless).length).toBe(12);
    expect(at.core("loopOverruns")).toBe(1);
    await at.until(() => at.count("tasks") === 0);
  });

  it("a workflow that dies between two steps expires", async () => {
    const { at, engine } = await open({ taskIdleSeconds: 0.2 });
    const { url } = at.gateway;
    const id = engine.create("dying", [task("a", "x"), task("b", "x")]);
    const send = globalThis.fetch;
    let calls = 0;
    // The first call goes out as ever; the second never leaves, nor does any word of the end, as in a process that is gone.
    globalThis.fetch = (input, init) => ((calls += 1) === 1 ? send(input, init) : new Promise(() => undefined));
    void engine.execute(id);
    await at.until(() => calls === 2);
    expect(at.seen).toEqual([{ task: id, stage: "a", agent: "x" }]);
    expect(at.count("tasks")).toBe(1);
    await at.until(() => at.count("tasks") === 0);
    expect(at.count("tasks_expired_total")).toBe(1);
    expect(at.gateway.loop.state.tasks.size).toBe(0);
    expect((await native(`${url}/ready`)).status).toBe(200);
  });

  it("stages that never come hold up nobody, and go with their task", async () => {
    const { at } = await open({ taskIdleSeconds: 0.2 });
    const { url } = at.gateway;
    const graph = {
      stages: [
        { id: "real", agent: "x" },
        { id: "ghost", agent: "y" },
        { id: "end", agent: "x" },
      ],
      edges: [
        ["real", "ghost"],
        ["ghost", "end"],
      ],
    };
    const send = (taskId: string, more: object) =>
      native(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          max_tokens: 4,
          messages: [{ role: "user", content: "hi" }],
          topas: { spec: "topas.receipt/1", taskId, graph, ...more },
        }),
      });
    const answers = [
      await send("t1", { stage: "real", readyStages: ["ghost", "real", "nowhere"] }),
      await send("t2", { stage: "real" }),
      await send("t2", { stage: "end", final: true }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get("x-topas-receipt-status")])).toEqual(
      Array(3).fill([200, "ok"]),
    );
    expect(at.core("unknownStages")).toBe(1);
    await at.until(() => at.count("tasks") === 0);
    expect(at.count("tasks_expired_total")).toBe(1);
  });
});
