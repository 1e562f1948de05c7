import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Step } from "./steps.ts";

/** A tool of the v3 engine. `handler` is an ordinary member that the engine reads at every call: the seam we use. */
export interface Tool {
  readonly name: string;
  handler: (input: Record<string, unknown>, context?: unknown) => Promise<unknown>;
}

/** What is needed of the engine, and nothing else. */
export interface RufloEngine {
  readonly workflowTools: readonly Tool[];
  /** Folder that holds `.claude-flow`, as the engine itself sees it. */
  readonly projectFolder: () => string;
}

export interface StoredWorkflow {
  readonly name?: string;
  readonly steps: readonly Step[];
  readonly variables?: Readonly<Record<string, unknown>>;
}

export class UnknownEngine extends Error {}

/** @throws UnknownEngine when a module is not the one we know: its exports are looked at, not its version. */
export function detect(workflowModule: unknown, typesModule: unknown): RufloEngine & { readonly execute: Tool } {
  const tools = (workflowModule as { workflowTools?: unknown } | null)?.workflowTools;
  const folder = (typesModule as { getProjectCwd?: unknown } | null)?.getProjectCwd;
  if (!Array.isArray(tools)) throw new UnknownEngine("workflow-tools.js exports no workflowTools");
  if (typeof folder !== "function") throw new UnknownEngine("types.js exports no getProjectCwd");
  const execute = (tools as readonly (Tool | null)[]).find((tool) => tool?.name === "workflow_execute");
  if (typeof execute?.handler !== "function") throw new UnknownEngine("workflow_execute has no handler");
  return { workflowTools: tools as Tool[], projectFolder: folder as () => string, execute };
}

/** One workflow of the engine's store; null: not there, or not in the form that we know. Throws what reading throws. */
export function readWorkflow(engine: RufloEngine, workflowId: string): StoredWorkflow | null {
  const file = join(engine.projectFolder(), ".claude-flow", "workflows", "store.json");
  const store = JSON.parse(readFileSync(file, "utf8")) as { workflows?: Record<string, StoredWorkflow | undefined> };
  const found = store.workflows?.[workflowId];
  return found !== undefined && Array.isArray(found.steps) ? found : null;
}
