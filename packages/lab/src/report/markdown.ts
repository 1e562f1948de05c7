import type { Results } from "../results/schema.ts";
import { EVIDENCE_LABELS, summaryOf } from "./rows.ts";
import {
  gateTable,
  lossTable,
  predictionTable,
  settingTables,
  targetTable,
  verdictTable,
  workloadTable,
  type Table,
} from "./tables.ts";

/** The same report as text. */
export function markdownReport(results: Results): string {
  const { manifest } = results;
  const tables = [
    lossTable(results),
    gateTable(results),
    verdictTable(results),
    targetTable(results),
    predictionTable(results),
    workloadTable(results),
    ...settingTables(results),
  ];
  return [
    `# ${manifest.title}`,
    `Evidence: **${EVIDENCE_LABELS[results.evidence]}**. Profile ${manifest.profile} (${manifest.profileStatus}).`,
    summaryOf(results),
    ...tables.flatMap((table) => (table === null ? [] : [section(table)])),
    `## How it was made\n\n\`${manifest.command}\`, version ${manifest.version}, commit ${manifest.git.commit ?? "unknown"}${manifest.git.dirty ? " with changes" : ""}, seeds ${manifest.seeds.join(", ")}, ${manifest.minutes.toFixed(1)} minutes with ${manifest.workers} workers.`,
    Object.entries(manifest.rules)
      .map(([name, rule]) => `- **${name}**: ${rule}`)
      .join("\n"),
  ]
    .join("\n\n")
    .concat("\n");
}

function section({ title, note, head, rows }: Table): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
  const table = rows.length === 0 ? [] : [line(head), line(head.map(() => "---")), ...rows.map(line)];
  return [`## ${title}`, ...(note === undefined ? [] : ["", note]), ...(table.length === 0 ? [] : ["", ...table])].join("\n");
}
