import type { Results } from "../results/schema.ts";
import { answerFigures } from "./answer-figures.ts";
import { figuresOf } from "./figures.ts";
import { EVIDENCE_LABELS, summaryOf } from "./rows.ts";
import { escapeXml, plot } from "./svg.ts";
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

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}table{border-collapse:collapse;font-size:13px;margin:.6rem 0}
.wide{overflow-x:auto}th,td{border-bottom:1px solid #ddd;padding:.25rem .55rem;text-align:left;vertical-align:top}
th{background:#f4f4f4}td{font-variant-numeric:tabular-nums}.evidence{background:#fff3d6;padding:.4rem .7rem;border-left:4px solid #e69f00}
figure{margin:1rem 0}svg{max-width:100%;height:auto}details{margin:.4rem 0}summary{cursor:pointer}.note{color:#555}`;

/** One file without any reference to another: figures are inline, each with the data behind it. Losses come first. */
export function htmlReport(results: Results): string {
  const { manifest } = results;
  const title = manifest.title;
  const figures = figuresOf(results).map(
    ({ name, figure }) =>
      `<figure id="${name}">${plot(figure)}<figcaption class="note">${escapeXml(EVIDENCE_LABELS[results.evidence])}</figcaption>` +
      `<details><summary>data</summary><script type="application/json" id="${name}-data">${json(figure)}</script><pre>${escapeXml(JSON.stringify(figure.series))}</pre></details></figure>`,
  );
  const answers = results.falsification.flatMap((each) => {
    const drawn = answerFigures(each).map(
      ({ id, svg, data }) =>
        `<figure id="${id}">${svg}<details><summary>data</summary><script type="application/json" id="${id}-data">${json(data)}</script><pre>${escapeXml(data.map((row) => JSON.stringify(row)).join("\n"))}</pre></details></figure>`,
    );
    if (drawn.length === 0) return [];
    return [
      `<h3>${escapeXml(each.test)}: ${escapeXml(each.question)}</h3><p><b>${escapeXml(each.verdict)}</b></p><p class="note">${escapeXml(each.detail)}</p>`,
      ...drawn,
    ];
  });
  const tables = [
    gateTable(results),
    verdictTable(results),
    targetTable(results),
    predictionTable(results),
    workloadTable(results),
  ].flatMap((each) => each ?? []);
  const { decisionP50Us, decisionP95Us, wallShare } = results.overhead;
  const body = [
    `<h1>${escapeXml(title)}</h1>`,
    `<p class="evidence">Evidence: ${escapeXml(EVIDENCE_LABELS[results.evidence])}. Profile ${escapeXml(manifest.profile)} (${escapeXml(manifest.profileStatus)}). Nothing here is a measurement on a GPU unless it says so.</p>`,
    `<p>${escapeXml(summaryOf(results))}</p>`,
    section(lossTable(results)),
    ...tables.map(section),
    ...(answers.length === 0 ? [] : ["<h2>Each question, drawn</h2>", ...answers]),
    "<h2>Figures</h2>",
    ...figures,
    "<h2>Every setting</h2>",
    ...settingTables(results).map(section),
    `<h2>Decision cost</h2><p>p50 ${decisionP50Us.toFixed(0)} us, p95 ${decisionP95Us.toFixed(0)} us, ${(100 * wallShare).toFixed(3)} % of engine time. ${escapeXml(results.overhead.note ?? "")}</p>`,
    "<h2>Rules of these figures</h2>",
    `<ul>${Object.entries(manifest.rules)
      .map(([name, rule]) => `<li><b>${name}</b>: ${escapeXml(rule)}</li>`)
      .join(
        "",
      )}<li><b>intervals</b>: paired bootstrap over seeds of the ratio of means, widened for few seeds; p: paired permutation test; ${results.comparisons.length} comparisons were made, so one in twenty would look significant by chance: see pHolm in results.json</li></ul>`,
    `<h2>Manifest</h2><pre>${escapeXml(JSON.stringify({ ...manifest, rules: undefined }, null, 2))}</pre>`,
    `<script type="application/json" id="capacities">${json(results.capacities ?? [])}</script>`,
  ];
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeXml(title)}</title><style>${STYLE}</style></head>\n<body>\n${body.join("\n")}\n</body></html>\n`;
}

function section({ title, note, head, rows }: Table): string {
  const cells = (tag: string, row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${escapeXml(cell)}</${tag}>`).join("")}</tr>`;
  const said = note === undefined ? "" : `<p class="note">${escapeXml(note)}</p>`;
  const table =
    rows.length === 0
      ? ""
      : `<div class="wide"><table>${cells("th", head)}${rows.map((row) => cells("td", row)).join("")}</table></div>`;
  return `<h2>${escapeXml(title)}</h2>${said}${table}`;
}

/** JSON that cannot end its script element. */
function json(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
}
