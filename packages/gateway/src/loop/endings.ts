import { NO_USAGE, type CallEnd } from "@topas/engines";
import type { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";
import type { CallRecord } from "./records.ts";
import type { OpenTask } from "./task-book.ts";

/** The call has its terminal event. Everything it held is released here, once, before the client hears of it. */
export function settle(
  loop: Loop,
  record: CallRecord,
  outcome: "finished" | "failed" | "cancelled",
  end: Pick<CallEnd, "reason" | "usage">,
): void {
  const now = loop.now();
  loop.options.journal?.call(record, end, now);
  const { id, identity } = record.call;
  loop.waiting.delete(id);
  loop.running.delete(id);
  loop.records.finish(record, now);
  loop.lastMovedSeconds = now;
  if (outcome === "finished") loop.apply({ kind: "roundDone", at: now, request: id, retainedTokens: end.usage.retainedTokens });
  else loop.apply({ kind: outcome, at: now, request: id });
  loop.counters_[`calls_${outcome}_total`]++;
  const task = loop.tasks.get(identity.task);
  if (task !== undefined) {
    task.calls.delete(id);
    task.lastSeenSeconds = now;
    if (task.final && task.calls.size === 0) closeTask(loop, task, "taskDone");
  }
  loop.requestDecision();
}

/** Ends a call that the engine has never seen. */
export function endUnsubmitted(loop: Loop, record: CallRecord, reason: "cancelled" | "failed", error?: GatewayError): void {
  // A settled record forgets its call, the sink included.
  const { sink } = record.call;
  settle(loop, record, reason, { reason, usage: NO_USAGE });
  sink.end({
    reason,
    usage: NO_USAGE,
    ...(error === undefined
      ? {}
      : { error: { code: error.code, message: error.message, status: error.status, retryable: true } }),
  });
}

export function closeTask(loop: Loop, task: OpenTask, kind: "taskDone" | "taskCancelled"): void {
  loop.tasks.close(task.id);
  loop.options.workflows?.forget(task.id);
  loop.apply({ kind, at: loop.now(), task: task.id });
  loop.counters_.tasks_done_total++;
  for (const session of task.sessions) loop.sessions.forget(session);
  if (loop.description.hostTier && task.sessions.size > 0) {
    // Resident session KV is now dead and leaves with the next decision; copies on the host leave here.
    void loop.engine_.apply([...task.sessions].map((s) => ({ op: "dropHost", entry: `session:${s}` })));
  }
  loop.requestDecision();
}
