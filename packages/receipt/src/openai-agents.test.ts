import { AsyncLocalStorage } from "node:async_hooks";
import { Agent, OpenAIChatCompletionsModel, handoff, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { topasFetch } from "./client.ts";
import { agentTasks } from "./openai-agents.ts";
import { chatServer, type ChatServer, type SeenCall, type ToolCall } from "./testing/chat-server.ts";

setTracingDisabled(true);
const system = (call: SeenCall): unknown => call.body.messages?.find((message) => message.role === "system")?.content;
const last = (call: SeenCall): string | undefined => call.body.messages?.at(-1)?.role;

describe("OpenAI Agents SDK, the published library, tracing off", () => {
  let server: ChatServer;
  afterEach(() => server.close());

  const open = async (script?: (call: SeenCall) => readonly ToolCall[]) => {
    server = await chatServer(script);
    const tasks = agentTasks(new AsyncLocalStorage());
    const client = new OpenAI({
      baseURL: server.baseURL,
      apiKey: "unused",
      maxRetries: 0,
      fetch: topasFetch(fetch, tasks.context),
    });
    const model = new OpenAIChatCompletionsModel(client, "local");
    const agent = (name: string, more: Partial<ConstructorParameters<typeof Agent>[0]> = {}) =>
      new Agent({ name, instructions: name, model: tasks.modelOf(name, model), ...more });
    return { tasks, model, agent };
  };

  it("follows a handoff: each call names the agent that makes it, and revisions rise", async () => {
    const { tasks, agent } = await open((call) => (system(call) === "triage" ? [{ name: "transfer_to_writer", args: {} }] : []));
    const writer = agent("writer");
    const triage = agent("triage", { handoffs: [handoff(writer)] });
    await tasks.withTask({ taskId: "t", workflowId: "support" }, () => run(triage, "go"));
    await run(writer, "outside");
    expect(server.seen.map((call) => [call.receipt?.taskId, call.receipt?.stage, call.receipt?.agent])).toEqual([
      ["t", "triage", "triage"],
      ["t", "writer", "writer"],
      [undefined, undefined, undefined],
    ]);
    expect(server.seen[1]?.receipt?.revision).toBeGreaterThan(server.seen[0]?.receipt?.revision ?? Infinity);
    expect(server.seen[0]?.receipt).toMatchObject({ workflowId: "support", arrival: expect.any(Number) });
  });

  it("parallel runs of one task and parallel tasks keep their own agent", async () => {
    const { tasks, agent } = await open();
    const agents = ["a", "b", "c"].map((name) => agent(name));
    await Promise.all(
      ["t1", "t2"].map((taskId) => tasks.withTask({ taskId }, () => Promise.all(agents.map((each) => run(each, taskId))))),
    );
    expect(server.seen).toHaveLength(6);
    for (const call of server.seen) {
      expect(call.receipt?.agent).toBe(system(call));
      expect(call.receipt?.taskId).toBe(call.body.messages?.at(-1)?.content);
    }
  });

  it("agents used as tools, in parallel, are named too, and the caller is itself again afterwards", async () => {
    const { tasks, agent } = await open((call) =>
      system(call) === "lead" && last(call) !== "tool" ? ["left", "right"].map((name) => ({ name, args: { input: "go" } })) : [],
    );
    const helpers = ["left", "right"].map((name) => agent(name).asTool({ toolName: name, toolDescription: name }));
    const lead = agent("lead", { tools: helpers });
    await tasks.withTask({ taskId: "t" }, () => run(lead, "go"));
    expect(server.seen.map(system)).toEqual(["lead", "left", "right", "lead"]);
    expect(server.seen.map((call) => call.receipt?.agent)).toEqual(["lead", "left", "right", "lead"]);
  });

  it("a tool's wait is told beside the calls, for the agent that waits", async () => {
    const { tasks, agent } = await open((call) => (last(call) === "user" ? [{ name: "look", args: {} }] : []));
    const look = tool({
      name: "look",
      description: "look",
      parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
      strict: false,
      execute: () =>
        tasks.withToolWait("a", { baseURL: server.baseURL, seconds: 3 }, () => vi.waitUntil(() => server.seen.length > 1)),
    });
    const before = Date.now();
    await tasks.withTask({ taskId: "t" }, () => run(agent("a", { tools: [look] }), "go"));
    expect(server.seen.map((call) => [call.path, call.receipt?.agent])).toEqual([
      ["/v1/chat/completions", "a"],
      ["/v1/receipts", "a"],
      ["/v1/chat/completions", "a"],
    ]);
    expect(Number(server.seen[1]?.receipt?.toolWait?.expectedEnd)).toBeGreaterThanOrEqual(before + 3000);
  });

  it("streams, too, and an agent whose model says nothing is not guessed", async () => {
    const { tasks, agent, model } = await open();
    await tasks.withTask({ taskId: "t" }, async () => {
      const streamed = await run(agent("a"), "go", { stream: true });
      for await (const _ of streamed) continue;
      await run(new Agent({ name: "b", model }), "go");
    });
    expect(server.seen.map((call) => [call.receipt?.taskId, call.receipt?.agent])).toEqual([
      ["t", "a"],
      ["t", undefined],
    ]);
  });
});
