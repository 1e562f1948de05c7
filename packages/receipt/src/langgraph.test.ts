import { Annotation, Command, END, START, Send, StateGraph, getConfig } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { topasFetch } from "./client.ts";
import { langgraphContext, langgraphGraph, type LangGraphContextOptions } from "./langgraph.ts";
import { parseGraph } from "./parse.ts";
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

  it("a context that fails costs its call nothing", async () => {
    await forkJoin(
      modelWith({}, () => {
        throw new Error("no config");
      }),
    ).invoke({});
    expect(server.seen.map((call) => call.receipt)).toEqual([null, null, null, null]);
  });
});

describe("langgraphGraph", () => {
  const drawn = (edges: readonly string[]) => {
    const parsed = edges.map((edge) => {
      const [source = "", target = ""] = edge.replace("?", "").split(">");
      return { source, target, conditional: edge.endsWith("?") };
    });
    return {
      nodes: Object.fromEntries(
        parsed.flatMap(({ source, target }) => [
          [source, {}],
          [target, {}],
        ]),
      ),
      edges: parsed,
    };
  };
  const END_ = "__end__";

  it.each([
    ["exact", ["__start__>a", "a>b", `b>${END_}`]],
    ["at-most", ["__start__>a", "a>b?", "a>c?", `b>${END_}`, `c>${END_}`]],
    ["at-least", ["__start__>a", "a>b", "b>a?", `b>${END_}?`]],
    ["estimate", ["__start__>a", "a>b?", "a>c?", "b>c", "c>a?", `c>${END_}?`]],
  ])("what the longest path says: %s", (path, edges) => {
    const made = langgraphGraph(drawn(edges));
    expect(made.path).toBe(path);
    expect(parseGraph(made.graph)).toMatchObject({ ok: true });
  });

  it("leaves silent nodes out: a tool loop becomes rounds of its agent", () => {
    const { graph, path } = langgraphGraph(drawn(["__start__>agent", "agent>tools?", `agent>${END_}?`, "tools>agent"]), {
      silent: ["tools", "absent", "__start__"],
      laps: { max: 8, mean: 2 },
    });
    expect(graph).toEqual({ stages: [{ id: "agent", rounds: { max: 8, mean: 2 } }], edges: [], barrier: true });
    expect(path).toBe("estimate");
    expect(parseGraph(graph)).toMatchObject({ ok: true });
  });

  it("a loop begins where it is entered, whatever the order of the nodes", () => {
    const { graph } = langgraphGraph(drawn(["c>a", "a>b", "b>c", "__start__>b"]));
    expect(graph.loops?.[0]?.stages).toEqual(["b", "c", "a"]);
  });
});
