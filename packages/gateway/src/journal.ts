import { createWriteStream, type WriteStream } from "node:fs";
import type { CallEnd } from "@topas/engines";
import type { CallRecord } from "./loop/records.ts";

export interface JournalHeader {
  readonly policy: string;
  readonly shadow: string | null;
  readonly engine: string;
  readonly model: string;
  readonly budgetTokens: number | null;
}

/** Appends one JSON line per terminal event (docs/journal.md). Never a prompt, an output or a header value. */
export interface Journal {
  call(record: CallRecord, end: Pick<CallEnd, "reason" | "usage">, nowSeconds: number): void;
  /** What a second policy would have decided at this instant, without acting (`--shadow`). */
  shadow(line: ShadowLine): void;
  close(): Promise<void>;
}

export interface ShadowLine {
  readonly atMs: number;
  readonly policy: string;
  readonly waiting: number;
  /** Ids that both, only the policy in force, or only the shadow would have admitted now. */
  readonly both: number;
  readonly onlyActive: readonly string[];
  readonly onlyShadow: readonly string[];
  readonly preempt: readonly string[];
}

const SPEC = "topas.journal/1";

/** Opens `path` for appending. A write error is told once and ends the journal, never the gateway. */
export function openJournal(path: string, header: JournalHeader, warn: (message: string, data: object) => void): Journal {
  let out: WriteStream | null = createWriteStream(path, { flags: "a", mode: 0o600 });
  out.on("error", (error) => {
    if (out !== null) warn("the journal cannot be written and ends here", { path, error: String(error) });
    out = null;
  });
  const write = (line: object): void => void out?.write(`${JSON.stringify(line)}\n`);
  write({ spec: SPEC, kind: "header", ...header });
  return {
    call: (record, end, nowSeconds) => write(lineOf(record, end, nowSeconds)),
    shadow: (line) => write({ spec: SPEC, kind: "shadow", ...line }),
    close: () => new Promise((resolve) => (out === null ? resolve() : out.end(() => resolve()))),
  };
}

function lineOf(record: CallRecord, end: Pick<CallEnd, "reason" | "usage">, nowSeconds: number): object {
  const { call } = record;
  const { identity, prompt } = call;
  const since = (seconds: number | null): number | null =>
    seconds === null ? null : round((seconds - record.arrivedSeconds) * 1000);
  return {
    spec: SPEC,
    kind: "call",
    id: call.id,
    tenant: identity.tenant,
    task: identity.task,
    stage: identity.stage,
    agent: identity.agent,
    workflow: identity.workflow,
    after: identity.graph?.edges.filter(([, to]) => to === identity.stage).map(([from]) => from) ?? null,
    prefixId: prompt.prefix?.id ?? null,
    prefixTokens: prompt.prefix?.tokens ?? 0,
    promptTokens: end.usage.promptTokens ?? prompt.promptTokens,
    cachedTokens: end.usage.cachedTokens,
    outputTokens: end.usage.completionTokens ?? record.generatedTokens,
    maxTokens: call.maxTokens,
    arrivalMs: round(record.arrivedSeconds * 1000),
    queueMs: since(record.admittedSeconds),
    ttftMs: since(record.firstTokenSeconds),
    endMs: since(nowSeconds),
    outcome: end.reason === "stop" || end.reason === "length" ? "done" : end.reason,
    session: identity.session,
    preemptions: record.preemptions,
    redoneTokens: end.usage.redoneTokens ?? 0,
  };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
