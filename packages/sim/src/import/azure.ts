import type { SimTask } from "../task.ts";
import { csvReader, type Fields } from "./fields.ts";
import { readRows, type Imported, type ImportOptions } from "./rows.ts";

export interface AzureOptions extends ImportOptions {
  readonly limit?: number;
}

/** Azure LLM inference traces 2023 (Azure/AzurePublicDataset; cite Splitwise, ISCA'24): `TIMESTAMP,ContextTokens,GeneratedTokens`. */
export function importAzure(lines: Iterable<string>, options: AzureOptions = {}): Imported {
  const next = csvReader("azure", ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]);
  const read = readRows(
    lines,
    (line, number) => {
      const row = next(line, number);
      if (row === null) return null;
      return {
        atSeconds: stampSeconds(row),
        promptTokens: row.count("ContextTokens", 1),
        outputTokens: row.count("GeneratedTokens"),
      };
    },
    options,
  );
  const rows = read.rows.slice(0, options.limit ?? Infinity).toSorted((a, b) => a.atSeconds - b.atSeconds);
  const start = rows[0]?.atSeconds ?? 0;
  return {
    agents: [{ name: "none", prefixTokens: 0 }],
    tasks: rows.map(({ atSeconds, promptTokens, outputTokens }, i): SimTask => ({
      id: `r${i + 1}`,
      arrivalSeconds: atSeconds - start,
      workflow: null,
      graph: null,
      stages: [
        {
          id: "call",
          agent: "none",
          after: [],
          rounds: [{ promptTokens, outputTokens: Math.max(1, outputTokens), toolWaitSeconds: 0 }],
        },
      ],
    })),
    rows: rows.length,
    skippedRows: read.skippedRows,
    problems: read.problems,
    notes: ["no sharing and no sessions in this format"],
  };
}

/** `2023-11-16 18:17:03.9799600` as seconds; days by the civil calendar (Hinnant), so no clock or time zone is involved. */
function stampSeconds(row: Fields): number {
  const stamp = row.text("TIMESTAMP");
  const match = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d(?:\.\d+)?)/.exec(stamp);
  if (match === null) return row.fail("TIMESTAMP", `is "${stamp}", must look like 2023-11-16 18:17:03.97`);
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [number, number, number, number, number, number];
  const shifted = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const days = shifted * 365 + Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400) + dayOfYear;
  return days * 86_400 + hour * 3_600 + minute * 60 + second;
}
