import { Fields } from "./fields.ts";
import { readRows, type ImportOptions, type Rows } from "./rows.ts";

export const JOURNAL_SPEC = "topas.journal/1";

export type JournalOutcome = "done" | "cancelled" | "failed" | "refused";

/** One line of the gateway's journal: the one terminal event of one call (docs/journal.md). Times in ms of one monotonic clock. */
export interface JournalCall {
  readonly spec: typeof JOURNAL_SPEC;
  readonly kind: "call";
  readonly id: string;
  readonly tenant: string;
  readonly task: string;
  readonly stage: string;
  readonly agent: string;
  readonly workflow: string | null;
  /** Stages this one waited for, when a receipt said so. */
  readonly after: readonly string[] | null;
  readonly prefixId: string | null;
  readonly prefixTokens: number;
  readonly promptTokens: number;
  readonly cachedTokens: number | null;
  readonly outputTokens: number;
  readonly maxTokens: number | null;
  readonly arrivalMs: number;
  /** Arrival to first admission; null when it never was. */
  readonly queueMs: number | null;
  readonly ttftMs: number | null;
  /** Arrival to terminal event. */
  readonly endMs: number;
  readonly outcome: JournalOutcome;
  readonly session: string | null;
  readonly preemptions: number;
  readonly redoneTokens: number;
}

const OUTCOMES: readonly string[] = ["done", "cancelled", "failed", "refused"] satisfies JournalOutcome[];

/** Reads journal lines; header lines (`kind: "header"`) are passed over. @throws ImportError */
export function readJournal(lines: Iterable<string>, options: ImportOptions = {}): Rows<JournalCall> {
  return readRows(
    lines,
    (line, number) => {
      const row = Fields.json("journal", number, line);
      if (row.text("spec") !== JOURNAL_SPEC) row.fail("spec", `is "${row.text("spec")}", this reads ${JOURNAL_SPEC}`);
      return row.or("kind", "text", "call") === "call" ? readCall(row) : null;
    },
    options,
  );
}

function readCall(row: Fields): JournalCall {
  const outcome = row.text("outcome");
  if (!OUTCOMES.includes(outcome)) row.fail("outcome", `is "${outcome}", must be one of ${OUTCOMES.join(", ")}`);
  const call: JournalCall = {
    spec: JOURNAL_SPEC,
    kind: "call",
    id: row.text("id"),
    tenant: row.or("tenant", "text", ""),
    task: row.text("task"),
    stage: row.text("stage"),
    agent: row.text("agent"),
    workflow: row.or("workflow", "text", null),
    after: row.or("after", "texts", null),
    prefixId: row.or("prefixId", "text", null),
    prefixTokens: row.or("prefixTokens", "count", 0),
    promptTokens: row.count("promptTokens"),
    cachedTokens: row.or("cachedTokens", "count", null),
    outputTokens: row.count("outputTokens"),
    maxTokens: row.or("maxTokens", "count", null),
    arrivalMs: row.number("arrivalMs"),
    queueMs: row.has("queueMs") ? row.number("queueMs", 0) : null,
    ttftMs: row.has("ttftMs") ? row.number("ttftMs", 0) : null,
    endMs: row.number("endMs", 0),
    outcome: outcome as JournalOutcome,
    session: row.or("session", "text", null),
    preemptions: row.or("preemptions", "count", 0),
    redoneTokens: row.or("redoneTokens", "count", 0),
  };
  if (call.prefixTokens > call.promptTokens)
    row.fail("prefixTokens", `is ${call.prefixTokens}, more than promptTokens ${call.promptTokens}`);
  return call;
}
