import type { Workflow } from "../v1/workflow.ts";

/** A v2 workflow file, as far as it is read here. */
export interface DagWorkflow {
  readonly name?: string;
  readonly agents?: readonly DagAgent[];
  readonly tasks: readonly DagTask[];
  readonly dependencies?: Readonly<Record<string, readonly string[]>>;
  readonly settings?: { readonly failurePolicy?: string };
}

export interface DagTask {
  readonly id: string;
  readonly assignTo: string;
  readonly depends?: readonly string[];
}

export interface DagAgent {
  readonly id: string;
  readonly type?: string;
  readonly name?: string;
}

export function parentsOf(workflow: DagWorkflow, task: DagTask): readonly string[] {
  return task.depends ?? workflow.dependencies?.[task.id] ?? [];
}

/**
 * The whole workflow as a graph. The v2 executor starts a level when the level before it is over (`barrier`), and runs the
 * children of a failed task all the same unless the policy is `fail-fast`.
 */
export function dagGraph(workflow: DagWorkflow): Workflow {
  const join = workflow.settings?.failurePolicy === "fail-fast" ? "all" : "all_done";
  return {
    stages: workflow.tasks.map((task) => ({ id: task.id, agent: task.assignTo, join })),
    edges: workflow.tasks.flatMap((task) => parentsOf(workflow, task).map((parent): [string, string] => [parent, task.id])),
    barrier: true,
  };
}

/** Calls on the longest chain from each task to the end, itself included. Ignores what a cycle would add: the executor refuses it. */
export function chainLengths(workflow: DagWorkflow): ReadonlyMap<string, number> {
  const children = new Map<string, string[]>();
  const open = new Map(workflow.tasks.map((task) => [task.id, 0]));
  for (const task of workflow.tasks)
    for (const parent of parentsOf(workflow, task)) {
      children.set(parent, [...(children.get(parent) ?? []), task.id]);
      open.set(parent, (open.get(parent) ?? 0) + 1);
    }
  const byId = new Map(workflow.tasks.map((task) => [task.id, task]));
  const length = new Map<string, number>();
  const queue = workflow.tasks.filter((task) => open.get(task.id) === 0);
  for (let i = 0; i < queue.length; i++) {
    const task = queue[i]!;
    length.set(task.id, 1 + Math.max(0, ...(children.get(task.id) ?? []).map((child) => length.get(child) ?? 0)));
    for (const parent of parentsOf(workflow, task)) {
      const left = (open.get(parent) ?? 0) - 1;
      open.set(parent, left);
      const before = byId.get(parent);
      if (left === 0 && before !== undefined) queue.push(before);
    }
  }
  return length;
}
