import type { Rng } from "../rng.ts";
import type { SimTask } from "../task.ts";
import { Fields } from "./fields.ts";
import { readRows, type Imported, type ImportOptions } from "./rows.ts";
import { distinctAgents, sharedPrefixes } from "./shared-prefix.ts";

export interface MooncakeOptions extends ImportOptions {
  readonly blockTokens?: number;
  /** Prompts that must share a run of blocks before it counts as a prefix. */
  readonly leastUsers?: number;
  /** Spreads requests inside one stamp period. The published conversation trace stamps in steps of 3 s, which fakes bursts (CV 3 instead of 1). */
  readonly spread?: { readonly rng: Rng; readonly periodMs: number };
  readonly limit?: number;
}

/** Mooncake traces (kvcache-ai/Mooncake, FAST'25): `timestamp` ms, `input_length`, `output_length`, `hash_ids` of 512-token blocks. One task a request. */
export function importMooncake(lines: Iterable<string>, options: MooncakeOptions = {}): Imported {
  const { limit = Infinity, blockTokens = 512, spread } = options;
  const read = readRows(
    lines,
    (line, number) => {
      const row = Fields.json("mooncake", number, line);
      const base = {
        atMs: row.number("timestamp", 0),
        inputTokens: row.count("input_length", 1),
        outputTokens: row.count("output_length"),
      };
      return { ...base, hashIds: row.or("hash_ids", "numbers", []) };
    },
    options,
  );
  const rows = read.rows
    .slice(0, limit)
    .map((row) => ({ ...row, atMs: row.atMs + (spread === undefined ? 0 : spread.rng.float() * spread.periodMs) }))
    .toSorted((a, b) => a.atMs - b.atMs);
  const agents = sharedPrefixes(rows, blockTokens, options.leastUsers ?? 2);
  const start = rows[0]?.atMs ?? 0;
  const tasks = rows.map((row, i): SimTask => {
    const { name, prefixTokens } = agents[i]!;
    const outputTokens = Math.max(1, row.outputTokens);
    return {
      id: `r${i + 1}`,
      arrivalSeconds: (row.atMs - start) / 1000,
      workflow: null,
      graph: null,
      stages: [
        {
          id: "call",
          agent: name,
          after: [],
          rounds: [{ promptTokens: row.inputTokens - prefixTokens, outputTokens, toolWaitSeconds: 0 }],
        },
      ],
    };
  });
  return {
    agents: distinctAgents(agents),
    tasks,
    rows: rows.length,
    skippedRows: read.skippedRows,
    problems: read.problems,
    notes: [
      "flat requests: turns of one conversation are separate tasks",
      "one shared prefix a request; shorter sharing nested in it is lost",
      ...(spread === undefined ? ["stamps kept as they are: requests of one stamp arrive together"] : []),
    ],
  };
}
