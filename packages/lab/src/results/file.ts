import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { Results } from "./schema.ts";

/** @throws Error naming file and field when the file is not a valid results file. */
export function readResults(path: string): Results {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return check(json, path);
}

/** Validates, then replaces the file in one go. */
export function writeResults(path: string, results: Results): void {
  const text = `${JSON.stringify(check(results, path))}\n`;
  writeFileSync(`${path}.part`, text);
  renameSync(`${path}.part`, path);
}

/** The published schema, draft 2020-12. */
export function resultsSchema(): unknown {
  return z.toJSONSchema(Results, { io: "input" });
}

const MOST_ISSUES = 5;

function check(value: unknown, path: string): Results {
  const parsed = Results.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const lines = issues.slice(0, MOST_ISSUES).map(({ path: at, message }) => `  ${at.map(String).join(".")}: ${message}`);
  if (issues.length > MOST_ISSUES) lines.push(`  and ${issues.length - MOST_ISSUES} more`);
  throw new Error(`${path} is no topas.results/1 file\n${lines.join("\n")}`);
}
