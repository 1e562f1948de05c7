import { AsyncLocalStorage } from "node:async_hooks";
import { Annotation, Command, END, START, Send, StateGraph, getConfig } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { topasFetch } from "./client.ts";
import { langgraphContext, langgraphGraph, type LangGraphContextOptions } from "./langgraph.ts";
import { chatServer, type ChatServer } from "./testing/chat-server.ts";

const State = Annotation.Root({ calls: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }) });
type Model = { invoke(text: string): Promise<unknown> };
const calling = (model: Model) => async () => {
  await model.invoke("go");
  return { calls: 1 };
};

describe("LangGraph, the published library", () => {
  let server: ChatServer;
  beforeAll(async () => {
    server = await chatServer();
  });
  afterAll(() => server.close());
  beforeEach(() => void server.seen.splice(0));

  const modelWith = (options: LangGraphContextOptions = {}, getConfigNow: () => unknown = getConfig) =>
    new ChatOpenAI({
      model: "local",
      apiKey: "unused",
      maxRetries: 0,
      configuration: { baseURL: server.baseURL, fetch: topasFetch(fetch, langgraphContext(getConfigNow, options)) },
    });
  const forkJoin = (model: Model) =>
    new StateGraph(State)
      .addNode("lead", calling(model))
      .addNode("left", calling(model))
      .addNode("right", calling(model))
      .addNode("write", calling(model))
      .addEdge(START, "lead")
      .addEdge("lead", "left")
      .addEdge("lead", "right")
      .addEdge(["left", "right"], "write")
      .addEdge("write", END)
      .compile();

  it("every call carries its thread, node and the static graph; calls outside a node or a thread carry nothing", async () => {
    const { graph, path } = langgraphGraph(await forkJoin(modelWith()).getGraphAsync({ xray: true }));
    const model = modelWith({ graph, workflowId: "research", agents: { lead: "researcher" } });
    await forkJoin(model).invoke({}, { configurable: { thread_id: "task-1" } });
    await model.invoke("outside");
    await forkJoin(model).invoke({});
    expect(path).toBe("exact");
    expect(server.seen.slice(0, 4).map((call) => [call.receipt?.taskId, call.receipt?.stage, call.receipt?.agent])).toEqual([
      ["task-1", "lead", "researcher"],
      ["task-1", "left", "left"],
      ["task-1", "right", "right"],
      ["task-1", "write", "write"],
    ]);
    expect(server.seen[0]?.receipt?.graph?.edges).toEqual([
      ["lead", "left"],
      ["lead", "right"],
      ["left", "write"],
      ["right", "write"],
    ]);
    expect(server.seen).toHaveLength(9);
    expect(server.seen.slice(4).map((call) => call.receipt)).toEqual([null, null, null, null, null]);
  });

  it("parallel runs keep their own task, a declared workflow goes by name, and a task may be named otherwise", async () => {
    const { graph } = langgraphGraph(await forkJoin(modelWith()).getGraphAsync());
    const model = modelWith({ graph, workflowId: "w", declared: true, taskId: (metadata) => `run-${String(metadata["run"])}` });
    await Promise.all([1, 2, 3].map((run) => forkJoin(model).invoke({}, { metadata: { run } })));
    for (const run of [1, 2, 3]) {
      const mine = server.seen.filter((call) => call.receipt?.taskId === `run-${run}`);
      expect(new Set(mine.map((call) => call.receipt?.stage))).toEqual(new Set(["lead", "left", "right", "write"]));
      expect(mine).toHaveLength(4);
    }
    expect(server.seen.every((call) => call.receipt?.workflowId === "w" && !call.receipt.graph)).toBe(true);
  });

  it("a subgraph's nodes are stages of their own with x-ray, and calls of the one node without", async () => {
    const build = (model: Model) => {
      const inner = new StateGraph(State)
        .addNode("draft", calling(model))
        .addNode("polish", calling(model))
        .addEdge(START, "draft")
        .addEdge("draft", "polish")
        .compile();
      return new StateGraph(State)
        .addNode("plan", calling(model))
        .addNode("write", inner)
        .addEdge(START, "plan")
        .addEdge("plan", "write")
        .compile();
    };
    for (const [xray, stages] of [
      [true, ["plan", "write:draft", "write:polish"]],
      [false, ["plan", "write", "write"]],
    ] as const) {
      server.seen.splice(0);
      const { graph } = langgraphGraph(await build(modelWith()).getGraphAsync({ xray }));
      await build(modelWith({ graph })).invoke({}, { configurable: { thread_id: "t" } });
      expect(server.seen.map((call) => call.receipt?.stage)).toEqual(stages);
      expect(server.seen.every((call) => call.receipt?.graph)).toBe(true);
    }
  });

  it("branches of a Send are calls of one stage, each with a private history", async () => {
    const model = modelWith();
    const app = new StateGraph(State)
      .addNode("worker", calling(model))
      .addConditionalEdges(START, () => [new Send("worker", {}), new Send("worker", {})], ["worker"])
      .compile();
    await app.invoke({}, { configurable: { thread_id: "t" } });
    expect(server.seen.map((call) => call.receipt?.stage)).toEqual(["worker", "worker"]);
    expect(new Set(server.seen.map((call) => call.receipt?.sessionKey))).toEqual(new Set(["worker#0", "worker#1"]));
  });

  it("a loop: declared in the graph, every lap is the same stage again", async () => {
    const build = (model: Model) =>
      new StateGraph(State)
        .addNode("plan", calling(model))
        .addNode("work", calling(model))
        .addNode("review", calling(model))
        .addEdge(START, "plan")
        .addEdge("plan", "work")
        .addEdge("work", "review")
        .addConditionalEdges("review", (s) => (s.calls < 5 ? "again" : "end"), { again: "work", end: END })
        .compile();
    const { graph, path } = langgraphGraph(await build(modelWith()).getGraphAsync(), { recursionLimit: 10 });
    await build(modelWith({ graph })).invoke({}, { configurable: { thread_id: "t" } });
    expect(graph.loops).toEqual([{ stages: ["work", "review"], max: 10, mean: 1 }]);
    expect(path).toBe("at-least");
    expect(server.seen.map((call) => call.receipt?.stage)).toEqual(["plan", "work", "review", "work", "review"]);
  });

  it("the edges of a Command are those of `ends`; a conditional edge without a path map leads everywhere", async () => {
    const node = () => ({ calls: 1 });
    const bare = new StateGraph(State)
      .addNode("a", node)
      .addNode("b", node)
      .addNode("c", node)
      .addEdge(START, "a")
      .addConditionalEdges("a", () => "b")
      .compile();
    const command = new StateGraph(State)
      .addNode("a", () => new Command({ goto: "b" }), { ends: ["b", END] })
      .addNode("b", node)
      .addEdge(START, "a")
      .compile();
    expect(langgraphGraph(await bare.getGraphAsync())).toMatchObject({
      path: "at-most",
      graph: {
        edges: [
          ["a", "b"],
          ["a", "c"],
        ],
      },
    });
    expect(langgraphGraph(await command.getGraphAsync())).toMatchObject({ path: "at-most", graph: { edges: [["a", "b"]] } });
  });

  it("a streamed run; and a streamed call, which leaves LangChain's scope, so a scope of one's own must hold the config", async () => {
    const scope = new AsyncLocalStorage<unknown>();
    const model = modelWith({}, () => scope.getStore() ?? getConfig());
    const talk = async () => {
      for await (const _ of await model.stream("go")) continue;
      return { calls: 1 };
    };
    const app = new StateGraph(State)
      .addNode("ask", calling(model))
      .addNode("lost", talk)
      .addNode("kept", (_state, config) => scope.run(config, talk))
      .addEdge(START, "ask")
      .addEdge("ask", "lost")
      .addEdge("lost", "kept")
      .compile();
    for await (const _ of await app.stream({}, { configurable: { thread_id: "t" }, streamMode: "messages" })) continue;
    expect(server.seen.map((call) => [call.body.stream, call.receipt?.stage])).toEqual([
      [true, "ask"],
      [true, undefined],
      [true, "kept"],
    ]);
  });

  it("a context that fails costs its call nothing", async () => {
    await forkJoin(
      modelWith({}, () => {
        throw new Error("no config");
      }),
    ).invoke({});
    expect(server.seen.map((call) => call.receipt)).toEqual([null, null, null, null]);
  });
});
