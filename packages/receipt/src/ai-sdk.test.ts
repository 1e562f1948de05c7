import { AsyncLocalStorage } from "node:async_hooks";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { stages } from "./ai-sdk.ts";
import { topasFetch } from "./client.ts";
import { chatServer, type ChatServer, type SeenCall, type ToolCall } from "./testing/chat-server.ts";

const graph = {
  stages: [{ id: "plan" }, { id: "look", rounds: { max: 4, mean: 2 } }, { id: "write", join: "all_done" as const }],
  edges: [["plan", "look"] as [string, string], ["look", "write"] as [string, string]],
};

describe("AI SDK, the published library", () => {
  let server: ChatServer;
  afterEach(() => server.close());

  const open = async (script?: (call: SeenCall) => readonly ToolCall[]) => {
    server = await chatServer(script);
    const scope = stages(new AsyncLocalStorage());
    const provider = createOpenAICompatible({
      name: "topas",
      baseURL: server.baseURL,
      fetch: topasFetch(fetch, scope.context),
    });
    return {
      scope,
      ask: (prompt: string) => generateText({ model: provider("local"), prompt, maxRetries: 0 }),
      model: provider("local"),
    };
  };

  it("stages of a task: identity, graph, rising revisions, and what became of the stages before", async () => {
    const { scope, ask } = await open();
    await scope.withTask({ taskId: "t", graph }, async () => {
      await scope.withStage({ stage: "plan", agent: "planner" }, () => ask("plan"));
      const failed = scope.withStage({ stage: "look" }, () => Promise.reject(new Error("tool broke")));
      await expect(failed).rejects.toThrow("tool broke");
      await scope.withStage({ stage: "write", final: true }, () => ask("write"));
    });
    await ask("outside");
    const [plan, write, outside] = server.seen.map((call) => call.receipt);
    expect(plan).toMatchObject({ taskId: "t", stage: "plan", agent: "planner", graph });
    expect(plan?.status).toBeUndefined();
    expect(write).toMatchObject({ stage: "write", final: true });
    expect(write?.revision).toBeGreaterThan(plan?.revision ?? Infinity);
    expect(write?.status).toEqual([
      { stage: "plan", state: "done" },
      { stage: "look", state: "failed" },
    ]);
    expect(outside).toBeNull();
  });

  it("a tool loop: every step is a call of its stage, and the wait between them is told", async () => {
    const { scope, model } = await open((call) =>
      call.body.messages?.at(-1)?.role === "user" ? [{ name: "look", args: {} }] : [],
    );
    const look = tool({
      inputSchema: jsonSchema<object>({ type: "object", properties: {} }),
      execute: () =>
        scope.withToolWait({ baseURL: server.baseURL, seconds: 2, headers: { authorization: "Bearer k" } }, async () => {
          await vi.waitUntil(() => server.seen.length > 1);
          return "seen";
        }),
    });
    await scope.withTask({ taskId: "t", graph }, () =>
      scope.withStage({ stage: "look", agent: "looker", final: true }, () =>
        generateText({ model, prompt: "go", tools: { look }, stopWhen: stepCountIs(4), maxRetries: 0 }),
      ),
    );
    expect(server.seen.map((call) => [call.path, call.receipt?.stage])).toEqual([
      ["/v1/chat/completions", "look"],
      ["/v1/receipts", "look"],
      ["/v1/chat/completions", "look"],
    ]);
    expect(server.seen[1]?.receipt?.toolWait).toBeDefined();
    expect(server.seen[1]?.receipt?.final).toBeNull();
  });

  it("a streamed tool loop that is read inside its stage, and a task opened twice: revisions still rise", async () => {
    const { scope, model } = await open((call) =>
      call.body.messages?.at(-1)?.role === "user" ? [{ name: "look", args: {} }] : [],
    );
    const look = tool({ inputSchema: jsonSchema<object>({ type: "object", properties: {} }), execute: () => "seen" });
    for (let turn = 0; turn < 2; turn++) {
      await scope.withTask({ taskId: "t" }, () =>
        scope.withStage({ stage: "look" }, () =>
          streamText({ model, prompt: "go", tools: { look }, stopWhen: stepCountIs(4) }).consumeStream(),
        ),
      );
    }
    expect(server.seen.map((call) => call.receipt?.stage)).toEqual(["look", "look", "look", "look"]);
    const revisions = server.seen.map((call) => call.receipt?.revision ?? 0);
    expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
  });

  it("parallel tasks and stages stay apart; a stage of a declared loop is never called done", async () => {
    const { scope, ask } = await open();
    const looped = {
      stages: [{ id: "left" }, { id: "right" }],
      edges: [["left", "right"] as [string, string], ["right", "left"] as [string, string]],
      loops: [{ stages: ["left", "right"], max: 3, mean: 2 }],
    };
    await Promise.all(
      ["t1", "t2"].map((taskId) =>
        scope.withTask({ taskId, graph: looped }, async () => {
          await Promise.all(["left", "right"].map((stage) => scope.withStage({ stage }, () => ask(`${taskId} ${stage}`))));
          await scope.withStage({ stage: "left" }, () => ask(`${taskId} left`));
        }),
      ),
    );
    expect(server.seen).toHaveLength(6);
    for (const { receipt, body } of server.seen) {
      expect(`${receipt?.taskId} ${receipt?.stage}`).toBe(body.messages?.at(-1)?.content);
      expect(receipt?.status).toBeUndefined();
    }
  });

  it("outside a task stages and waits only run what they are given; a wait that nobody hears costs the tool nothing", async () => {
    const { scope } = await open();
    expect(await scope.withStage({ stage: "s" }, () => 1)).toBe(1);
    expect(await scope.withToolWait({ baseURL: server.baseURL, seconds: 1 }, () => 2)).toBe(2);
    expect(server.seen).toHaveLength(0);
    const onError = vi.fn(() => {
      throw new Error("reporter");
    });
    const send = () => Promise.resolve(new Response("no", { status: 422 }));
    const wait = { baseURL: "http://gateway.test/v1/", seconds: 1, send, onError };
    await scope.withTask({ taskId: "t" }, async () => {
      expect(await scope.withToolWait(wait, () => 3)).toBe(3);
      await expect(scope.withToolWait(wait, () => Promise.reject(new Error("tool")))).rejects.toThrow("tool");
    });
    await vi.waitUntil(() => onError.mock.calls.length === 2);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: "POST http://gateway.test/v1//receipts: 422 no" }));
  });
});
