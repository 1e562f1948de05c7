import type { ReceiptContext } from "../encode.ts";
import type { Prefix } from "../v1/prefix.ts";
import type { Plan } from "./plan.ts";

const NEXT_AGENTS_MAX = 16;

/** One execution of a v3 workflow, from the handler's start to its end. */
export interface Run {
  readonly taskId: string;
  /** Its key in the engine's store. */
  readonly storedAs: string;
  readonly workflowId: string;
  /** The graph is declared once under the workflow's id, since it does not fit a header; receipts leave it out. */
  readonly declares: boolean;
  readonly plan: Plan;
  /** Step at which the engine starts. */
  readonly start: number;
  /** Milliseconds since the epoch. */
  readonly arrivalMs: number;
  revision: number;
  /** Step of the last call; null: none yet. */
  at: number | null;
  /** What became of the last call: the engine repeats a failed one or ends. */
  lastFailed: boolean;
  /** The last call was announced as the task's last and answered: the gateway has closed the task. */
  closed: boolean;
  readonly visited: Set<number>;
}

export function newRun(
  known: Pick<Run, "taskId" | "storedAs" | "workflowId" | "declares" | "plan" | "start" | "arrivalMs">,
): Run {
  return { ...known, revision: 0, at: null, lastFailed: false, closed: false, visited: new Set() };
}

/**
 * Step that makes the call which is being sent now. Mostly the plan leaves one choice; after a condition that depends on the
 * model's words `running` is asked: it reads which step the engine has marked. null: not known.
 */
export function locate(run: Run, running: () => number | null): number | null {
  if (run.at !== null && run.lastFailed) return run.at;
  const choices = run.at === null ? run.plan.from(run.start) : run.plan.after(run.at);
  return choices.length === 1 ? choices[0]! : running();
}

/** Receipt of the call of step `index`; counts the call. `nowMs`: since the epoch. */
export function receiptOfCall(run: Run, index: number, prefix: Prefix | null, nowMs: number): ReceiptContext {
  const { plan } = run;
  const stage = plan.stages[index]!;
  run.at = index;
  run.lastFailed = false;
  run.visited.add(index);
  run.revision += 1;
  const left = plan.left(index);
  const reach = plan.reach(index);
  const skipped = (plan.graph === null ? [] : plan.steps.map((_, at) => at)).filter(
    (at) => plan.steps[at]!.type === "task" && !run.visited.has(at) && !reach.has(at),
  );
  return {
    ...identity(run, nowMs),
    final: plan.after(index).length === 0,
    stage,
    ...(plan.agents[index] == null ? {} : { agent: plan.agents[index] }),
    ...(plan.graph === null || run.declares ? {} : { graph: plan.graph }),
    readyStages: [stage],
    ...(skipped.length > 0 ? { status: skipped.map((at) => ({ stage: plan.stages[at]!, state: "skipped" as const })) } : {}),
    nextAgents: nextAgents(plan, index),
    ...(left === null
      ? {}
      : {
          remainingPath: {
            value: left.calls,
            unit: "calls" as const,
            source: left.exact ? ("declared" as const) : ("inferred" as const),
            asOf: nowMs,
          },
        }),
    ...(prefix === null ? {} : { prefix }),
  };
}

/** A tool wait of `ms` after the last call; null: none is certain. */
export function receiptOfWait(run: Run, nowMs: number): ReceiptContext | null {
  const ms = run.at === null ? 0 : run.plan.waitAfter(run.at);
  if (run.at === null || ms === 0) return null;
  run.revision += 1;
  return { ...identity(run, nowMs), stage: run.plan.stages[run.at]!, toolWait: { expectedEnd: nowMs + ms } };
}

function identity(run: Run, nowMs: number): ReceiptContext {
  return {
    taskId: run.taskId,
    workflowId: run.workflowId,
    revision: run.revision,
    arrival: run.arrivalMs,
    taskAge: { value: Math.max(0, nowMs - run.arrivalMs), unit: "ms", source: "observed", asOf: nowMs },
  };
}

/** Soonest first: the steps that follow, then those that follow them. */
function nextAgents(plan: Plan, index: number): string[] {
  const agents: string[] = [];
  const seen = new Set<number>();
  let level: readonly number[] = plan.after(index);
  while (level.length > 0 && agents.length < NEXT_AGENTS_MAX) {
    for (const at of level) {
      seen.add(at);
      const agent = plan.agents[at];
      if (agent != null && agents.at(-1) !== agent) agents.push(agent);
    }
    level = [...new Set(level.flatMap((at) => plan.after(at)))].filter((at) => !seen.has(at));
  }
  return agents.slice(0, NEXT_AGENTS_MAX);
}
