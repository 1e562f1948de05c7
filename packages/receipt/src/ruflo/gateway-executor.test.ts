import { describe, expect, it } from "vitest";
import type { DagWorkflow } from "./dag.ts";
import { gatewayExecutor, type PromptParts } from "./gateway-executor.ts";
import { hearing } from "./testing/heard.ts";
import { StandInExecutor } from "./testing/stand-in.ts";

const DIAMOND: DagWorkflow = {
  name: "research",
  agents: [{ id: "lead" }, { id: "tech" }, { id: "law" }],
  tasks: [
    { id: "plan", assignTo: "lead" },
    { id: "tech", assignTo: "tech", depends: ["plan"] },
    { id: "law", assignTo: "law", depends: ["plan"] },
    { id: "report", assignTo: "lead", depends: ["tech", "law"] },
  ],
};
const userFor = ({ task, parents }: PromptParts): string =>
  `${task.id} after ${parents.map(({ task: parent, output }) => `${parent}=${output}`).join(",")}`;

function open(answer?: Parameters<typeof hearing>[0], more: { receipts?: boolean } = {}) {
  const heard = hearing(answer);
  const Executor = gatewayExecutor(StandInExecutor, {
    url: "http://gateway.test/",
    fetch: heard.fetch,
    systemFor: ({ id }) => `You are ${id}.`,
    userFor,
    ...more,
  });
  return { heard, executor: new Executor() };
}

describe("the v2 executor with the gateway as its model", () => {
  it("declares the whole graph with every call, and what is ready apart from what is sent", async () => {
    const { heard, executor } = open((prompt) => `<${prompt.split(" ")[0]}>`);
    expect(await executor.executeWorkflow(DIAMOND)).toMatchObject({ success: true, completedTasks: 4 });

    const sent = heard.calls.map(({ receipt }) => receipt!);
    expect(sent.map(({ stage }) => stage)).toEqual(["plan", "tech", "law", "report"]);
    expect(sent.map(({ agent }) => agent)).toEqual(["lead", "tech", "law", "lead"]);
    expect(sent.map(({ readyStages }) => readyStages)).toEqual([["plan"], ["tech", "law"], ["tech", "law"], ["report"]]);
    expect(sent.map(({ remainingPath }) => remainingPath!.value)).toEqual([3, 2, 2, 1]);
    expect(sent.map(({ remainingWork }) => remainingWork!.value)).toEqual([4, 3, 3, 1]);
    expect(sent.map(({ final }) => final)).toEqual([false, false, false, true]);
    expect(sent.map(({ revision }) => revision)).toEqual([1, 2, 3, 4]);
    expect(sent[0]!.prefix!.id).toBe(sent[3]!.prefix!.id);
    for (const receipt of sent) expect(receipt).toMatchObject({ taskId: executor.executionId, graph: sent[0]!.graph });
    expect(sent[0]!.graph).toMatchObject({
      barrier: true,
      edges: [
        ["plan", "tech"],
        ["plan", "law"],
        ["tech", "report"],
        ["law", "report"],
      ],
    });
    expect(heard.calls[3]!.prompt).toBe("report after tech=<tech>,law=<law>");
    expect(executor.outputs.get("report")).toBe("<report>");
    expect(heard.beside).toEqual([{ path: `/v1/tasks/${executor.executionId}/finish`, body: { outcome: "done" } }]);
  });

  it("a call that fails fails its task; the children of it run all the same, and the gateway is told", async () => {
    const { heard, executor } = open((prompt) => (prompt.startsWith("tech") ? { status: 503 } : "ok"));
    expect(await executor.executeWorkflow(DIAMOND)).toMatchObject({ success: false, completedTasks: 3, failedTasks: 1 });
    const last = heard.calls[3]!;
    expect(last.prompt).toBe("report after tech=null,law=ok");
    expect(last.receipt).toMatchObject({ stage: "report", status: [{ stage: "tech", state: "failed" }] });
    expect(last.receipt!.graph!.stages.every(({ join }) => join === "all_done")).toBe(true);
    expect(heard.beside.at(-1)!.body).toEqual({ outcome: "cancelled" });
  });

  it("fail-fast stops after the level, and its joins need every parent", async () => {
    const { heard, executor } = open((prompt) => (prompt.startsWith("tech") ? { status: 503 } : "ok"));
    const strict: DagWorkflow = { ...DIAMOND, settings: { failurePolicy: "fail-fast" } };
    expect(await executor.executeWorkflow(strict)).toMatchObject({ success: false, completedTasks: 2 });
    expect(heard.calls.length).toBe(3);
    expect(heard.calls[0]!.receipt!.graph!.stages[3]!.join).toBe("all");
  });

  it("a second workflow of the same executor is a task of its own", async () => {
    const { heard, executor } = open();
    await executor.executeWorkflow(DIAMOND);
    await executor.executeWorkflow(DIAMOND);
    expect(new Set(heard.calls.map(({ receipt }) => receipt!.taskId)).size).toBe(2);
  });

  it("without receipts the calls are the same and nothing is told beside them", async () => {
    const { heard, executor } = open(undefined, { receipts: false });
    await executor.executeWorkflow(DIAMOND);
    expect(heard.calls.map(({ receipt }) => receipt)).toEqual([null, null, null, null]);
    expect(heard.beside).toEqual([]);
  });
});
