import type { SimAgent, SimTask } from "../task.ts";
import { dynamoTasks } from "./dynamo-tasks.ts";
import type { DynamoExtension, DynamoRow } from "./dynamo-row.ts";
import { Fields } from "./fields.ts";
import { ImportError, readRows, type Imported, type ImportOptions } from "./rows.ts";
import { distinctAgents } from "./shared-prefix.ts";

export interface DynamoOptions extends ImportOptions {
  readonly blockTokens?: number;
  /** Use our own member where rows carry it; else everything is inferred from dependencies and hashes. */
  readonly extension?: boolean;
}

export type ReadRow = Omit<DynamoRow, "input_length" | "output_length" | "hash_ids" | "branches" | "tool_events" | "topas"> & {
  readonly line: number;
  readonly input_length: number;
  readonly output_length: number;
  readonly hash_ids: readonly number[];
  readonly topas: DynamoExtension | null;
};

const FORMAT = "dynamo-agentic";

/**
 * Agentic Mooncake rows (ai-dynamo). A row starts when every `wait_for` row has ended plus `delay` and `tool_wait_ms`. A header row
 * (later crates: schema name and version) is recognised by its lack of `request_id` and skipped.
 */
export function importDynamo(lines: Iterable<string>, options: DynamoOptions = {}): Imported {
  let header: string | null = null;
  const read = readRows(
    lines,
    (line, number): ReadRow | null => {
      const row = Fields.json(FORMAT, number, line);
      if (number === 1 && !row.has("request_id") && (row.has("schema") || row.has("version") || row.has("schema_version"))) {
        header = JSON.stringify(row.raw("schema") ?? null);
        return null;
      }
      return readRow(row, options.extension ?? true);
    },
    options,
  );
  checkLinks(read.rows);
  const made: { agents: SimAgent[]; tasks: SimTask[]; moved: number } = dynamoTasks(read.rows, options.blockTokens ?? 64);
  return {
    agents: distinctAgents(made.agents),
    tasks: made.tasks.toSorted((a, b) => a.arrivalSeconds - b.arrivalSeconds),
    rows: read.rows.length,
    skippedRows: read.skippedRows,
    problems: read.problems,
    notes: [
      "waits stand before a call in this format and after one in the task model: of several dependants the shortest wait counts",
      ...(made.moved > 0
        ? [`${made.moved} rows wait longer than a sibling with the same dependency; the difference is lost`]
        : []),
      ...(header === null ? [] : [`header row of schema ${String(header)}: fields newer than crate 1.3 are ignored`]),
    ],
  };
}

function readRow(row: Fields, extension: boolean): ReadRow {
  return {
    line: row.line,
    request_id: row.text("request_id"),
    ...(row.has("session_id") ? { session_id: row.text("session_id") } : {}),
    input_length: Math.max(1, row.or("input_length", "count", 1)),
    output_length: Math.max(1, row.or("output_length", "count", 1)),
    hash_ids: row.or("hash_ids", "numbers", []),
    ...(row.has("timestamp") ? { timestamp: row.number("timestamp") } : {}),
    delay: row.amount("delay"),
    tool_wait_ms: row.amount("tool_wait_ms"),
    wait_for: row.or("wait_for", "texts", []),
    topas: extension && row.has("topas") ? (row.raw("topas") as DynamoExtension) : null,
  };
}

function checkLinks(rows: readonly ReadRow[]): void {
  const ids = new Set<string>();
  for (const { request_id, line } of rows) {
    if (ids.has(request_id)) throw new ImportError(FORMAT, line, "request_id", `"${request_id}" appeared before`);
    ids.add(request_id);
  }
  for (const { wait_for, line } of rows)
    for (const id of wait_for)
      if (!ids.has(id)) throw new ImportError(FORMAT, line, "wait_for", `names "${id}", which is no row`);
}
