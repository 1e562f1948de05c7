import type { ReceiptContext } from "../encode.ts";
import type { Workflow } from "../v1/workflow.ts";
import { chainLengths, dagGraph, parentsOf, type DagTask, type DagWorkflow } from "./dag.ts";
import { prefixId, prefixWatch } from "./prefix.ts";

/** One execution of a v2 workflow: what has ended, and how. */
export interface DagRun {
  readonly taskId: string;
  readonly workflow: DagWorkflow;
  readonly graph: Workflow;
  readonly chain: ReadonlyMap<string, number>;
  readonly arrivalMs: number;
  revision: number;
  /** Task → what it said; null: its call failed. */
  readonly outputs: Map<string, string | null>;
}

export function beginDagRun(taskId: string, workflow: DagWorkflow): DagRun {
  return {
    taskId,
    workflow,
    graph: dagGraph(workflow),
    chain: chainLengths(workflow),
    arrivalMs: Date.now(),
    revision: 0,
    outputs: new Map(),
  };
}

const watch = prefixWatch();

/** Receipt of the call of `task`. Ready is what may run by the graph; what has been sent is what the gateway has seen. */
export function receiptOfTask(run: DagRun, task: DagTask, body: unknown): ReceiptContext {
  const nowMs = Date.now();
  const { workflow, outputs } = run;
  run.revision += 1;
  const left = workflow.tasks.filter((other) => !outputs.has(other.id));
  const ready = left.filter((other) => parentsOf(workflow, other).every((parent) => outputs.has(parent)));
  const failed = [...outputs].filter(([, output]) => output === null).map(([stage]) => ({ stage, state: "failed" as const }));
  const calls = (value: number) => ({ value, unit: "calls" as const, source: "declared" as const, asOf: nowMs });
  const id = prefixId(body);
  return {
    taskId: run.taskId,
    ...(workflow.name === undefined ? {} : { workflowId: workflow.name }),
    revision: run.revision,
    arrival: run.arrivalMs,
    taskAge: { value: nowMs - run.arrivalMs, unit: "ms", source: "observed", asOf: nowMs },
    final: left.length === 1,
    graph: run.graph,
    stage: task.id,
    agent: task.assignTo,
    readyStages: ready.map((other) => other.id),
    ...(failed.length > 0 ? { status: failed } : {}),
    nextAgents: [...new Set(left.filter((other) => !ready.includes(other)).map((other) => other.assignTo))],
    remainingPath: calls(run.chain.get(task.id) ?? 1),
    remainingWork: calls(left.length),
    ...(id === null ? {} : { prefix: watch(task.assignTo, id) }),
  };
}
