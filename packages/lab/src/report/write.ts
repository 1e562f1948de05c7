import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeResults } from "../results/file.ts";
import type { Results } from "../results/schema.ts";
import { htmlReport } from "./html.ts";
import { markdownReport } from "./markdown.ts";

/** results.json, manifest.json, report.html and REPORT.md. */
export function writeReports(out: string, results: Results): void {
  writeResults(join(out, "results.json"), results);
  writeFileSync(join(out, "manifest.json"), `${JSON.stringify(results.manifest, null, 2)}\n`);
  writeFileSync(join(out, "report.html"), htmlReport(results));
  writeFileSync(join(out, "REPORT.md"), markdownReport(results));
}
