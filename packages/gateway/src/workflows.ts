import type { Graph, TaskHints } from "@topas/core";
import { parseGraph } from "@topas/receipt";
import type { Identified } from "./identify.ts";
import { contradicts } from "./identify/contradiction.ts";
import { scopedId, tameId } from "./identify/frame.ts";
import { createLru } from "./identify/lru.ts";
import { scopeAgents, toGraph } from "./identify/to-core.ts";

export type ParsedWorkflow =
  | { readonly ok: true; /** Agents as the client names them: `declare` scopes them. */ readonly graph: Graph }
  | { readonly ok: false; readonly code: "invalid_workflow"; readonly message: string; readonly members: readonly string[] };

/** Body of `PUT /v1/workflows/{id}`. A registration, unlike a receipt on a call, is refused when it is wrong (422, K66). */
export function parseWorkflow(body: unknown): ParsedWorkflow {
  const parsed = parseGraph(body);
  return parsed.ok
    ? { ok: true, graph: toGraph(parsed.graph) }
    : { ok: false, code: "invalid_workflow", message: `${parsed.code}: ${parsed.message}`, members: parsed.members };
}

export interface WorkflowStore {
  /** Registers or replaces. Returns the graph as calls will see it. */
  declare(tenant: string, workflowId: string, graph: Graph): Graph;
  /** By the client's own id; null: never declared, or forgotten. */
  declared(tenant: string, workflowId: string): Graph | null;
  /** What this call's task is known to be: newest valid revision, declared workflow, age at first sight only. */
  reconcile(identified: Identified): Identified;
  /** The task is over: its revisions are forgotten. Takes the scoped id. */
  forget(task: string): void;
  counters(): Readonly<Record<"clock_suspect_total" | "receipt_stale_total" | "receipt_contradiction_total", number>>;
}

interface TaskMemory {
  /** -1: only receipts without a revision so far. */
  readonly revision: number;
  readonly workflow: string | null;
  readonly graph: Graph | null;
  readonly graphText: string | null;
  readonly hints: TaskHints | null;
}

const NO_MEMORY: TaskMemory = { revision: -1, workflow: null, graph: null, graphText: null, hints: null };

/** Bounded by `capacity` workflows and as many tasks (default 10,000); the least recently used go first. */
export function createWorkflowStore(options: { readonly capacity?: number } = {}): WorkflowStore {
  const workflows = createLru<Graph>(options.capacity ?? 10_000);
  const tasks = createLru<TaskMemory>(options.capacity ?? 10_000);
  const counts = { clock_suspect_total: 0, receipt_stale_total: 0, receipt_contradiction_total: 0 };

  /** The newest valid revision wins; of two different receipts with one revision, the first. */
  function remember(known: TaskMemory, identified: Identified, warnings: string[]): TaskMemory {
    const { identity, receipt } = identified;
    if (!receipt) return known;
    const revision = receipt.revision ?? known.revision;
    if (revision < known.revision) {
      counts.receipt_stale_total++;
      warnings.push("receipt_stale: a newer revision of this task's receipt was used");
      return known;
    }
    const graphText = identity.graph ? JSON.stringify(identity.graph) : null;
    const differs = known.graph !== null && identity.graph !== null && graphText !== known.graphText;
    const moved = known.workflow !== null && identity.workflow !== null && identity.workflow !== known.workflow;
    const same = receipt.revision != null && revision === known.revision;
    if (moved || (differs && (same || contradicts(known.graph, identity.graph)))) {
      counts.receipt_contradiction_total++;
      warnings.push("receipt_contradiction: receipts of this task disagree; the newest revision was used");
      if (same) return known;
    }
    return {
      revision,
      workflow: identity.workflow ?? known.workflow,
      graph: differs || known.graph === null ? identity.graph : known.graph,
      graphText: graphText ?? known.graphText,
      hints: taskHints(identity.hints) ?? known.hints,
    };
  }

  return {
    declare(tenant, workflowId, graph) {
      const scoped = scopeAgents(tenant, graph);
      workflows.set(scopedId(tenant, tameId(workflowId).id), scoped);
      return scoped;
    },
    declared: (tenant, workflowId) => workflows.get(scopedId(tenant, tameId(workflowId).id)) ?? null,
    reconcile(identified) {
      const { identity } = identified;
      // One call long: a workflow that only a header names says nothing about it.
      if (identity.taskIsCall) return identified;
      const before = tasks.get(identity.task);
      const warnings = [...identified.warnings];
      if (!before && identified.clockSuspect) {
        counts.clock_suspect_total++;
        warnings.push("clock_suspect: the task's age was clamped");
      }
      const known = before ?? NO_MEMORY;
      const after = remember(known, identified, warnings);
      const kept = after === known && identified.receipt !== null && before !== undefined;
      const workflow = after.workflow ?? identity.workflow;
      tasks.set(identity.task, after.workflow === workflow ? after : { ...after, workflow });
      const graph = after.graph ?? (workflow === null ? null : (workflows.get(workflow) ?? null));
      const hints = kept ? mergeHints(after.hints, callHints(identity.hints)) : identity.hints;
      return { ...identified, warnings, identity: { ...identity, workflow, graph, hints } };
    },
    forget: (task) => void tasks.delete(task),
    counters: () => ({ ...counts }),
  };
}

/** The hints that speak of the whole task: superseded by a newer revision. */
function taskHints(hints: TaskHints | null): TaskHints | null {
  if (!hints) return null;
  const { remainingPathSeconds: path, remainingWorkSeconds: work, readyStages: ready } = hints;
  if (path === undefined && work === undefined && ready === undefined) return null;
  return {
    ...(path === undefined ? {} : { remainingPathSeconds: path }),
    ...(work === undefined ? {} : { remainingWorkSeconds: work }),
    ...(ready === undefined ? {} : { readyStages: ready }),
  };
}

/** The hints that speak of this call alone: true even when the receipt that brought them was overtaken by another one. */
function callHints(hints: TaskHints | null): TaskHints | null {
  if (!hints) return null;
  const { remainingPathSeconds: _path, remainingWorkSeconds: _work, readyStages: _ready, ...rest } = hints;
  return Object.keys(rest).length > 0 ? rest : null;
}

function mergeHints(task: TaskHints | null, call: TaskHints | null): TaskHints | null {
  return task || call ? { ...task, ...call } : null;
}
