import type { SimTask } from "../task.ts";
import { csvReader } from "./fields.ts";
import { groupBy } from "./group.ts";
import { readRows, type Imported, type ImportOptions } from "./rows.ts";
import { sessionStages } from "./session-stages.ts";

export interface TracelabOptions extends ImportOptions {
  /** Multiplies arrivals and waits. */
  readonly timeScale?: number;
}

interface Round {
  readonly session: string;
  readonly arrivalMs: number;
  readonly index: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly waitMs: number;
}

/**
 * TraceLab replay CSV (uw-syfi/TraceLab, replay/README.md): `session_id` or `id`, `round_idx`, `prefix_len` kept tokens, `input_len`
 * appended tokens, `output_len`, `tool_wait_after_ms`, and `arrival_time` in ms where present. One task a session.
 */
export function importTracelab(lines: Iterable<string>, options: TracelabOptions = {}): Imported {
  const next = csvReader("tracelab", ["round_idx", "prefix_len", "input_len", "output_len", "tool_wait_after_ms"]);
  const read = readRows(
    lines,
    (line, number): Round | null => {
      const row = next(line, number);
      if (row === null) return null;
      return {
        session: row.text(row.has("session_id") ? "session_id" : "id"),
        arrivalMs: row.amount("arrival_time"),
        index: row.count("round_idx"),
        inputTokens: Math.max(1, row.count("prefix_len") + row.count("input_len")),
        outputTokens: row.count("output_len"),
        waitMs: row.number("tool_wait_after_ms", 0),
      };
    },
    options,
  );
  const scale = (options.timeScale ?? 1) / 1000;
  const sessions = groupBy(read.rows, ({ session }) => session);
  const tasks = [...sessions].map(([session, rounds]): SimTask => {
    const calls = rounds
      .toSorted((a, b) => a.index - b.index)
      .map((round) => ({ ...round, waitAfterSeconds: round.waitMs * scale }));
    return {
      id: `session${session}`,
      arrivalSeconds: calls[0]!.arrivalMs * scale,
      workflow: null,
      graph: null,
      stages: sessionStages(calls, "none", 0, "session", []),
    };
  });
  return {
    agents: [{ name: "none", prefixTokens: 0 }],
    tasks: tasks.toSorted((a, b) => a.arrivalSeconds - b.arrivalSeconds),
    rows: read.rows.length,
    skippedRows: read.skippedRows,
    problems: read.problems,
    notes: ["linear sessions; nothing says what sessions share, so no agent prefix"],
  };
}
