import {
  importAzure,
  importCodingSessions,
  importDynamo,
  importJournal,
  importMooncake,
  importTracelab,
  type Imported,
  type SimAgent,
  type SimTask,
} from "@topas/sim";
import { UsageError } from "../friendly.ts";

export const TRACE_FORMATS = ["journal", "mooncake", "dynamo", "azure", "coding-sessions", "tracelab"] as const;
export type TraceFormat = (typeof TRACE_FORMATS)[number];

export interface Trace {
  readonly imported: Imported;
  readonly format: TraceFormat;
  /** The gateway's budget, when a journal says so. */
  readonly budgetTokens: number | null;
}

/** @throws ImportError naming line and field; Error when the format cannot be told from the first line. */
export function importTrace(lines: readonly string[], format: TraceFormat | "auto", skipBadRows: boolean): Trace {
  const options = { skipBadRows };
  const chosen = format === "auto" ? guess(lines) : format;
  switch (chosen) {
    case "journal":
      return { imported: importJournal(lines, options), format: chosen, budgetTokens: headerBudget(lines) };
    case "mooncake":
      return { imported: importMooncake(lines, options), format: chosen, budgetTokens: null };
    case "dynamo":
      return { imported: importDynamo(lines, options), format: chosen, budgetTokens: null };
    case "azure":
      return { imported: importAzure(lines, options), format: chosen, budgetTokens: null };
    case "coding-sessions":
      return { imported: importCodingSessions(lines, options), format: chosen, budgetTokens: null };
    case "tracelab":
      return { imported: importTracelab(lines, options), format: chosen, budgetTokens: null };
  }
}

function guess(lines: readonly string[]): TraceFormat {
  const first = lines.find((line) => line.trim() !== "") ?? "";
  if (first.includes('"topas.journal/')) return "journal";
  if (/^TIMESTAMP,/i.test(first)) return "azure";
  if (first.startsWith("{")) {
    if (/"(wait_for|branches|tool_wait_ms|session_id)"/.test(first) && first.includes('"hash_ids"')) return "dynamo";
    if (first.includes('"hash_ids"')) return "mooncake";
    return "coding-sessions";
  }
  if (first.includes(",")) return "tracelab";
  throw new UsageError(`cannot tell what this file is from its first line: say --format ${TRACE_FORMATS.join(" | ")}`);
}

function headerBudget(lines: readonly string[]): number | null {
  try {
    const header = JSON.parse(lines[0] ?? "") as { kind?: unknown; budgetTokens?: unknown };
    return header.kind === "header" && typeof header.budgetTokens === "number" ? header.budgetTokens : null;
  } catch {
    return null;
  }
}

/** The first `most` tasks of which every call fits the budget with its whole history. */
export function fitting(
  agents: readonly SimAgent[],
  all: readonly SimTask[],
  budget: number,
  most: number,
): { tasks: SimTask[]; left: number } {
  const prefix = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  const fits = (task: SimTask): boolean =>
    task.stages.every(({ agent, rounds }) => {
      const own = rounds.reduce((n, round) => n + round.promptTokens + Math.max(round.outputTokens, round.maxTokens ?? 0), 0);
      return (prefix.get(agent) ?? 0) + own + 64 <= budget;
    });
  const tasks = all.filter(fits).slice(0, most);
  return { tasks, left: all.length - tasks.length };
}
