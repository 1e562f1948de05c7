import { groupBy } from "../import/group.ts";
import type { JournalCall } from "../import/journal.ts";
import type { EngineFacts, RequestLog, RunLog, TaskLog } from "./run-log.ts";

/**
 * A gateway's journal as a log of what really happened. A task is over when its last call is; it failed if that call did. The
 * journal holds terminal events only, so what was still running at its end is not in it.
 */
export function runLogOfJournal(calls: readonly JournalCall[], engine: EngineFacts): RunLog {
  const seconds = (call: JournalCall, ms: number | null): number | null => (ms === null ? null : (call.arrivalMs + ms) / 1000);
  const taskOf = (call: JournalCall): string => JSON.stringify([call.tenant, call.task]);
  const tasks = [...groupBy(calls, taskOf)].map(([id, members]): TaskLog => {
    const last = members.reduce((a, b) => (b.arrivalMs + b.endMs >= a.arrivalMs + a.endMs ? b : a));
    const outcome = last.outcome === "refused" ? "failed" : last.outcome;
    const arrivalSeconds = Math.min(...members.map(({ arrivalMs }) => arrivalMs)) / 1000;
    return { id, tenant: last.tenant, arrivalSeconds, finishSeconds: seconds(last, last.endMs), outcome };
  });
  const requests = calls.map((call): RequestLog => ({
    id: call.id,
    task: taskOf(call),
    readySeconds: call.arrivalMs / 1000,
    admittedSeconds: seconds(call, call.queueMs),
    firstTokenSeconds: seconds(call, call.ttftMs),
    finishSeconds: seconds(call, call.endMs),
    outcome: call.outcome === "refused" ? "failed" : call.outcome,
    prefixTokens: call.prefixTokens,
    promptTokens: call.promptTokens,
    cachedTokens: call.cachedTokens,
    outputTokens: call.outputTokens,
    preemptions: call.preemptions,
    redoneTokens: call.redoneTokens,
  }));
  const endSeconds = calls.reduce((end, call) => Math.max(end, (call.arrivalMs + call.endMs) / 1000), 0);
  return { tasks, requests, engine, endSeconds };
}
