import type { SimAgent, SimRound, SimStage, SimTask } from "../task.ts";
import { groupBy } from "./group.ts";
import { readJournal, type JournalCall } from "./journal.ts";
import type { Imported, ImportOptions } from "./rows.ts";
import { distinctAgents } from "./shared-prefix.ts";

interface Visit {
  readonly id: string;
  readonly calls: JournalCall[];
}

const endOf = (call: JournalCall): number => call.arrivalMs + call.endMs;
const startMs = (visit: Visit): number => visit.calls[0]!.arrivalMs;
const finishMs = (visit: Visit): number => Math.max(...visit.calls.map(endOf));

/**
 * A gateway's journal as a workload to replay. Calls of one stage with no other call of the task wholly in between are its rounds; a stage
 * visited again later is a stage of its own. Waits are what passed between the end of what a call waited for and its arrival.
 */
export function importJournal(lines: Iterable<string>, options: ImportOptions = {}): Imported {
  const read = readJournal(lines, options);
  const used = read.rows.filter((call) => call.outcome !== "refused" && call.outputTokens > 0);
  const agents: SimAgent[] = [];
  const tasks = [...groupBy(used, (call) => JSON.stringify([call.tenant, call.task])).values()].map((calls): SimTask => {
    const first = calls.reduce((a, b) => (b.arrivalMs < a.arrivalMs ? b : a));
    const visits = visitsOf(calls.toSorted((a, b) => a.arrivalMs - b.arrivalMs || (a.id < b.id ? -1 : 1)));
    const before = new Map(visits.map((visit) => [visit, waitedFor(visit, visits)]));
    const waits = trailingWaits(before);
    const stages = visits.map((visit): SimStage => {
      const agent = agentOf(visit.calls);
      agents.push(agent);
      return {
        id: visit.id,
        agent: agent.name,
        after: before.get(visit)!.map(({ id }) => id),
        rounds: roundsOf(visit.calls, agent.prefixTokens, waits.get(visit) ?? 0),
      };
    });
    return {
      id: first.tenant === "" ? first.task : `${first.tenant}/${first.task}`,
      arrivalSeconds: first.arrivalMs / 1000,
      workflow: first.workflow,
      tenant: first.tenant,
      graph: null,
      stages,
    };
  });
  const start = Math.min(...tasks.map((task) => task.arrivalSeconds));
  return {
    agents: distinctAgents(agents),
    tasks: tasks
      .map((task) => ({ ...task, arrivalSeconds: task.arrivalSeconds - start }))
      .toSorted((a, b) => a.arrivalSeconds - b.arrivalSeconds),
    rows: used.length,
    skippedRows: read.skippedRows + read.rows.length - used.length,
    problems: read.problems,
    notes: [
      "order of stages without `after` is inferred from times: what ended before a stage began counts as waited for",
      "calls that failed or were cancelled keep the output they had",
    ],
  };
}

function visitsOf(calls: readonly JournalCall[]): Visit[] {
  const open = new Map<string, Visit>();
  const visits: Visit[] = [];
  const count = new Map<string, number>();
  for (const call of calls) {
    const last = open.get(call.stage);
    const lastCall = last?.calls.at(-1);
    const between =
      lastCall !== undefined &&
      calls.some((other) => other.stage !== call.stage && other.arrivalMs >= endOf(lastCall) && endOf(other) <= call.arrivalMs);
    if (last !== undefined && !between && endOf(lastCall!) <= call.arrivalMs) {
      last.calls.push(call);
      continue;
    }
    const visit = (count.get(call.stage) ?? 0) + 1;
    count.set(call.stage, visit);
    const made: Visit = { id: visit === 1 ? call.stage : `${call.stage}~${visit}`, calls: [call] };
    open.set(call.stage, made);
    visits.push(made);
  }
  return visits;
}

/** Declared predecessors that ended before; without a declaration, what ended before and was not itself waited for by another such. */
function waitedFor(visit: Visit, visits: readonly Visit[]): Visit[] {
  const ended = visits.filter((other) => other !== visit && finishMs(other) <= startMs(visit));
  const declared = visit.calls[0]!.after;
  if (declared !== null) return declared.flatMap((stage) => ended.findLast((other) => other.calls[0]!.stage === stage) ?? []);
  return ended.filter((other) => !ended.some((later) => finishMs(other) <= startMs(later)));
}

/** Wait after a stage: the shortest that any of its successors had, counted from the last stage it waited for. */
function trailingWaits(before: ReadonlyMap<Visit, readonly Visit[]>): Map<Visit, number> {
  const out = new Map<Visit, number>();
  for (const [visit, waited] of before) {
    if (waited.length === 0) continue;
    const last = waited.reduce((a, b) => (finishMs(b) > finishMs(a) ? b : a));
    out.set(last, Math.min(out.get(last) ?? Infinity, (startMs(visit) - finishMs(last)) / 1000));
  }
  return out;
}

function agentOf(calls: readonly JournalCall[]): SimAgent {
  const prefixTokens = Math.min(calls[0]!.prefixTokens, Math.max(0, calls[0]!.promptTokens - 1));
  return { name: `${calls[0]!.agent}:${calls[0]!.prefixId ?? ""}:${prefixTokens}`, prefixTokens };
}

function roundsOf(calls: readonly JournalCall[], prefixTokens: number, lastWaitSeconds: number): SimRound[] {
  let context = prefixTokens;
  return calls.map((call, i) => {
    const next = calls[i + 1];
    const promptTokens = Math.max(1, call.promptTokens - context);
    context += promptTokens + call.outputTokens;
    const limit = call.maxTokens === null ? {} : { maxTokens: call.maxTokens };
    const toolWaitSeconds = next === undefined ? lastWaitSeconds : (next.arrivalMs - endOf(call)) / 1000;
    return { promptTokens, outputTokens: call.outputTokens, ...limit, toolWaitSeconds };
  });
}
