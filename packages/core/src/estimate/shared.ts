import { trim } from "../bounded.ts";
import type { Graph } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { compileGraph, type CompiledGraph } from "../graph/compile.ts";
import type { State } from "../state.ts";
import { profileKeys } from "./profile.ts";

const MOST_GRAPHS = 256;
/** Longer graphs are compiled anew each time: they would be costly to compare. */
const LONGEST_TEXT = 8_192;

/** The compiled graph of this text: tasks of one template share it, so that a waiting task stays small. */
export function sharedGraph(state: State, graph: Graph): CompiledGraph {
  const { graphs } = state.shared;
  const text = graph.stages.length <= 64 ? JSON.stringify(graph) : null;
  if (text === null || text.length > LONGEST_TEXT) return compileGraph(graph);
  let compiled = graphs.get(text);
  if (compiled === undefined) {
    compiled = compileGraph(graph);
    graphs.set(text, compiled);
    trim(graphs, MOST_GRAPHS);
  }
  return compiled;
}

/** Profile keys of a stage, one array for all tasks that have it. */
export function sharedKeys(state: State, tenant: string, agent: string, stage: string): readonly string[] {
  const { keys } = state.shared;
  const own = frameKey(tenant, agent, stage);
  let known = keys.get(own);
  if (known === undefined) {
    known = profileKeys(tenant, agent, stage);
    keys.set(own, known);
    trim(keys);
  }
  return known;
}
