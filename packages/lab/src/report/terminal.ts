import { lossesOf } from "../losses.ts";
import { settingId } from "../results/compare.ts";
import type { Results } from "../results/schema.ts";
import { EVIDENCE_LABELS, seconds, settingsOf, shown, summaryOf } from "./rows.ts";
import { predictionTable, range, targetTable, type Table } from "./tables.ts";

const SHOWN_LOSSES = 6;

/** What the command prints: a table a setting, ratios to the best shipped baseline, verdicts, losses, gate. */
export function terminalReport(results: Results): string {
  const { comparisons, falsification, gate, manifest } = results;
  const out = [`${manifest.title}`, `evidence: ${EVIDENCE_LABELS[results.evidence]}`, ""];
  for (const { id, label, rest, rows } of settingsOf(results.runs)) {
    const mine = comparisons.filter((row) => settingId(row) === id);
    const against = (which: "bestShipped" | "bestFair", policy: string, metric: string): string => {
      const row = mine.find((each) => each[which] && each.policy === policy && each.metric === metric);
      return row === undefined ? "" : `${row.ratio.toFixed(2)} [${range(row.ci95).replace(" .. ", ", ")}]`;
    };
    out.push(
      `${label}; ${rest}`,
      columns([
        [
          "policy",
          "cond",
          "engine",
          "fit",
          "reserve",
          "mean s",
          "p99 s",
          "req/s",
          "contended",
          "settles",
          "mean / best shipped",
          "p99 / best shipped",
          "mean / best fair",
        ],
        ...rows.map((row) => [
          row.policy,
          row.condition,
          row.engine,
          row.fit,
          row.reserve,
          seconds(row.figures.jctMeanS),
          seconds(row.figures.jctP99S),
          shown(row.figures.throughputReqS, 3),
          shown(row.figures.contendedShare, 2),
          row.error === null ? (row.unstable ? "no" : "yes") : "failed",
          against("bestShipped", row.policy, "jctMeanS"),
          against("bestShipped", row.policy, "jctP99S"),
          against("bestFair", row.policy, "jctMeanS"),
        ]),
      ]),
      "",
    );
  }
  out.push("fair: same engine, reserve and limits, skips what does not fit; [95 % interval over seeds]", "");
  const targets = targetTable(results);
  if (targets !== null) out.push(plain(targets), "");
  const predicted = predictionTable(results);
  if (predicted !== null) out.push(plain(predicted), "");
  for (const { test, question, verdict, detail } of falsification)
    out.push(`${test}: ${question}`, `  ${verdict}`, `  ${detail}`);
  const losses = lossesOf(comparisons);
  out.push(
    "",
    `losses: ${losses.length} of ${comparisons.filter(({ rival }) => rival).length} comparisons with other schedulers (all in the report, first page)`,
  );
  for (const { policy, baseline, metric, ratio, ci95, where, unstable } of losses.slice(0, SHOWN_LOSSES))
    out.push(
      `  ${policy} loses to ${baseline}, ${metric} ${ratio.toFixed(3)} [${range(ci95)}]${unstable ? " unstable" : ""}, ${where}`,
    );
  const { decisionP50Us, decisionP95Us, wallShare } = results.overhead;
  out.push(
    `decisions: p50 ${decisionP50Us.toFixed(0)} us, p95 ${decisionP95Us.toFixed(0)} us, ${(100 * wallShare).toFixed(3)} % of engine time`,
  );
  if (gate !== undefined)
    out.push(`gate for ${gate.policy}: ${gate.decision}${gate.reasons.length === 0 ? "" : ` (${gate.reasons.join(", ")})`}`);
  out.push(
    "",
    summaryOf(results),
    "",
    `${manifest.minutes.toFixed(1)} minutes, ${results.runs.length} runs, ${manifest.workers} workers`,
  );
  return out.join("\n");
}

function plain({ title, head, rows }: Table): string {
  return `${title}\n${columns([head, ...rows])}`;
}

export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ")}`.trimEnd()).join("\n");
}
