import type { Decision } from "@topas/core";
import type { CommandOutcome, EngineCommand } from "@topas/engines";
import type { Loop } from "../loop.ts";
import { callSink } from "./call-sink.ts";
import { obeysCommands } from "./engine-view.ts";
import type { CallRecord } from "./records.ts";
import { settleWait } from "./records.ts";
import { countSubmit } from "./retry.ts";

/**
 * Sends one committed decision to the engine in the order preempt, evict, load, admit. Commands and submits travel on
 * one ordered channel, so nothing is awaited in between; outcomes that contradict the books come back as events.
 */
export function carryOut(loop: Loop, decision: Decision, now: number): void {
  const commands: EngineCommand[] = [];
  for (const { request, mode } of decision.preempt) {
    const record = loop.running.get(request);
    if (record === undefined) continue;
    loop.running.delete(request);
    loop.waiting.set(request, record);
    record.status = "waiting";
    record.preemptions++;
    loop.counters_.preemptions_total++;
    commands.push({ op: "preempt", id: request, keep: mode === "swap" ? "swap" : "recompute" });
  }
  for (const { entry, keepHost } of decision.evict) commands.push({ op: "evict", entry, keepHost });
  // What has to be computed is filled by the first call that needs it and charged to that call; only copies are commands.
  for (const { entry, from } of decision.load) if (from === "host") commands.push({ op: "load", entry });
  const fresh: CallRecord[] = [];
  for (const admit of decision.admit) {
    const record = loop.waiting.get(admit.request);
    if (record === undefined) continue;
    markRunning(loop, record, now, admit.needTokens);
    if (record.submitted) commands.push({ op: "resume", id: admit.request });
    else fresh.push(record);
  }
  if (obeysCommands(loop.description)) {
    if (decision.keep.length > 0) commands.push({ op: "rank", order: decision.keep });
    if (commands.length > 0) {
      loop.engine_.apply(commands).then(
        (outcomes) => onOutcomes(loop, commands, outcomes),
        (error: unknown) => loop.options.log?.("error", "engine commands failed", { error: String(error) }),
      );
    }
  }
  for (const record of fresh) {
    record.submitted = true;
    record.call.onAdmitted?.();
    countSubmit(loop.retries, now);
    submit(loop, record);
  }
}

function markRunning(loop: Loop, record: CallRecord, now: number, needTokens: number): void {
  const { id } = record.call;
  settleWait(record, now);
  const [oldest] = loop.waiting.values();
  if (oldest !== undefined && oldest.arrivedSeconds < record.arrivedSeconds) loop.counters_.overtakes_total++;
  loop.waiting.delete(id);
  loop.running.set(id, record);
  record.status = "running";
  record.needTokens = needTokens;
  record.admittedSeconds ??= now;
}

function submit(loop: Loop, record: CallRecord): void {
  const { call } = record;
  loop.engine_.submit(
    {
      id: call.id,
      prompt: call.prompt,
      maxTokens: call.maxTokens,
      sampling: call.sampling,
      stop: call.stop,
      session: call.identity.session,
      http: call.http,
    },
    callSink(loop, record, () => submit(loop, record)),
  );
}

/** What the engine could not do. `unknownId` for a preempt or a resume: the call has just ended, its end event settles it. */
function onOutcomes(loop: Loop, commands: readonly EngineCommand[], outcomes: readonly CommandOutcome[]): void {
  let contradicted = false;
  commands.forEach((command, i) => {
    const outcome = outcomes[i];
    if (outcome === undefined || outcome.outcome === "enforced" || outcome.outcome === "biased") return;
    const at = loop.now();
    if (command.op === "resume" && outcome.outcome === "noRoom") {
      const record = loop.running.get(command.id);
      if (record === undefined) return;
      loop.running.delete(command.id);
      loop.waiting.set(command.id, record);
      record.status = "waiting";
      loop.apply({ kind: "refused", at, request: command.id, reason: outcome.outcome });
      contradicted = true;
    } else if (command.op === "evict") {
      loop.apply({ kind: "evicted", at, entry: command.entry, keptOnHost: false });
      contradicted = true;
    } else if (command.op === "load") {
      loop.apply({ kind: "loadFailed", at, entry: command.entry });
      contradicted = true;
    }
  });
  if (contradicted) loop.requestDecision();
}
