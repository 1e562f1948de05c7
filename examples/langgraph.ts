/**
 * Fork and join in LangGraph: a researcher, two readers side by side, a writer. The gateway learns the graph and where each call
 * stands in it. Start the gateway (`npm start`), then: node --conditions=@topas/source --import tsx examples/langgraph.ts
 */
import { Annotation, END, START, StateGraph, getConfig } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { topasFetch } from "@topas/receipt/client";
import { langgraphContext, langgraphGraph, type Graph } from "@topas/receipt/langgraph";
import { baseURL, noting, report } from "./seen.ts";

const State = Annotation.Root({ notes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

function build(graph?: Graph) {
  const context = langgraphContext(getConfig, { workflowId: "research", ...(graph ? { graph } : {}) });
  const model = new ChatOpenAI({
    model: "default",
    apiKey: "unused",
    maxTokens: 16,
    maxRetries: 1,
    configuration: { baseURL, fetch: topasFetch(noting, context, { baseURL }) },
  });
  const agent = (system: string) => async (state: typeof State.State) => {
    const answer = await model.invoke([
      ["system", system],
      ["user", state.notes.join("\n") || "Start."],
    ]);
    return { notes: [answer.text] };
  };
  return new StateGraph(State)
    .addNode("research", agent("You are a researcher. List what must be read."))
    .addNode("papers", agent("You read papers. Say what they found."))
    .addNode("code", agent("You read code. Say what it does."))
    .addNode("write", agent("You are a writer. Join the notes."))
    .addEdge(START, "research")
    .addEdge("research", "papers")
    .addEdge("research", "code")
    .addEdge(["papers", "code"], "write")
    .addEdge("write", END)
    .compile();
}

const { graph, path } = langgraphGraph(await build().getGraphAsync({ xray: true }));
console.log("stages", graph.stages.length, "edges", graph.edges?.length, "longest path:", path);
const taskId = `langgraph-${process.pid}`;
const { notes } = await build(graph).invoke({ notes: [] }, { configurable: { thread_id: taskId } });
console.log(notes.at(-1));
await report(taskId);
