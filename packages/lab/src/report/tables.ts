import { lossesOf } from "../losses.ts";
import type { LiveFacts } from "../live/live-manifest.ts";
import type { Results } from "../results/schema.ts";
import { seconds, settingsOf, shown, type Row } from "./rows.ts";

/** A table as text cells; html, markdown and the terminal draw the same ones. */
export interface Table {
  readonly title: string;
  readonly note?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const MOST_LOSSES = 40;

/** Losses come first in every report. */
export function lossTable(results: Results): Table {
  const losses = lossesOf(results.comparisons);
  return {
    title: "Where the joint policies lose",
    note:
      losses.length === 0
        ? "No setting and metric in which a joint policy is worse than another scheduler by more than its 95 % interval."
        : `${losses.length} of ${results.comparisons.filter(({ rival }) => rival).length} comparisons with other schedulers: the interval leaves out 1 to the wrong side. Worst first${losses.length > MOST_LOSSES ? `, ${MOST_LOSSES} shown` : ""}.`,
    head: ["policy", "loses to", "metric", "ratio", "95 % interval", "where", ""],
    rows: losses
      .slice(0, MOST_LOSSES)
      .map(({ policy, baseline, metric, ratio, ci95, where, unstable }) => [
        policy,
        baseline,
        metric,
        ratio.toFixed(3),
        range(ci95),
        where,
        unstable ? "unstable" : "",
      ]),
  };
}

export function gateTable({ gate }: Results): Table | null {
  if (gate === undefined) return null;
  const reasons = gate.reasons.length === 0 ? "" : ` (${gate.reasons.join(", ")})`;
  return {
    title: `Gate for ${gate.policy}: ${gate.decision}${reasons}`,
    note: "A recommendation. It deploys nothing.",
    head: ["clause", "", "figure", "detail"],
    rows: gate.clauses.map(({ clause, pass, figure, detail }) => [
      clause,
      pass === null ? "not measured" : pass ? "yes" : "no",
      figure,
      detail,
    ]),
  };
}

export function verdictTable({ falsification }: Results): Table {
  return {
    title: "Questions and verdicts",
    head: ["test", "question", "verdict", "detail"],
    rows: falsification.map(({ test, question, verdict, detail }) => [test, question, verdict, detail]),
  };
}

export function targetTable({ targets = [] }: Results): Table | null {
  if (targets.length === 0) return null;
  return {
    title: "The paper says, we measure: reduction against the best shipped baseline, per cent",
    note: "The paper's lengths, rates and limits are not public; ours resemble them. Our policy and the baseline are the best of their kind per metric.",
    head: ["workload", "metric", "paper", "ours", "95 % interval", "aim", "met", "our policy", "baseline", ""],
    rows: targets.map((row) => [
      row.workload,
      row.metric,
      shown(row.paperPercent),
      row.ourPercent.toFixed(1),
      row.ci95Percent[0] < -1e5 ? "one seed" : `${row.ci95Percent[0].toFixed(1)} .. ${row.ci95Percent[1].toFixed(1)}`,
      row.targetPercent.toFixed(0),
      row.met ? "yes" : "no",
      row.policy,
      row.baseline,
      row.unstable ? "unstable" : "",
    ]),
  };
}

/** Of a live run: the simulator's word on the same calls. */
export function predictionTable({ predictions = [] }: Results): Table | null {
  if (predictions.length === 0) return null;
  const worst = Math.max(...predictions.map(({ errorPercent }) => Math.abs(errorPercent)));
  return {
    title: "Predicted and measured: mean task time",
    note: `The calls of one recorded run of each setting and seed, simulated under every policy with profiles calibrated on this machine before and after the seed. Worst error ${worst.toFixed(1)} %. At speed: step costs scaled to the time the measured run spent in steps, so that a machine that others slow down does not count. Order: Kendall's tau of the policies of a setting, 1 = the same order.`,
    head: ["workload", "arrival", "load", "policy", "measured s", "predicted s", "error %", "at speed %", "order", "seeds"],
    rows: predictions.map((row) => [
      row.workload,
      row.arrival,
      row.load.toFixed(2),
      row.policy,
      row.measuredS.toFixed(2),
      row.predictedS.toFixed(2),
      row.errorPercent.toFixed(1),
      shown(row.atSpeedErrorPercent),
      row.kendallTau === null ? "-" : row.kendallTau.toFixed(2),
      String(row.seeds),
    ]),
  };
}

/** Of a live run: who played what, and how far the cache is below the prefixes it is asked to hold. */
export function workloadTable({ manifest }: Results): Table | null {
  const { workloads, engine, notes } = manifest as Partial<LiveFacts>;
  if (workloads === undefined) return null;
  const said = [
    ...(notes ?? []),
    ...(engine === undefined ? [] : [`engine: ${engine.notes.join("; ")}; threads ${engine.threads}`]),
  ];
  return {
    title: "What was played",
    note: said.join(". "),
    head: ["workload", "orchestrator", "prefix tokens", "KV budget", "budget / prefixes", "notes"],
    rows: workloads.map((row) => [
      row.workload,
      row.orchestrator,
      String(row.prefixTokens),
      String(row.kvTokens),
      shown(row.budgetOverPrefixes, 2),
      row.notes.join("; "),
    ]),
  };
}

/** One table a setting. A row that differs in engine, fit or reserve from another is "as shipped" against it. */
export function settingTables(results: Results): Table[] {
  return settingsOf(results.runs).map(({ table, label, rest, maxTokens, rows }) => ({
    title: `${label} [${table}]`,
    note: `${rest}; max_tokens ${maxTokens} in every row. Evidence: ${results.evidence}.`,
    head: [
      "policy",
      "cond.",
      "engine",
      "fit",
      "reserve",
      "mean s",
      "p95 s",
      "p99 s",
      "slowdown p99",
      "ttft s",
      "req/s",
      "batch",
      "pinned k=0,1,2..",
      "hit",
      "preempt",
      "wait max s",
      "contended",
      "settles",
    ],
    rows: rows.map(cells),
  }));
}

function cells(row: Row): string[] {
  const { figures: f, pinned } = row;
  const settles = row.unstable ? "no" : "yes";
  return [
    row.policy,
    row.condition,
    row.engine,
    row.fit,
    row.reserve,
    seconds(f.jctMeanS),
    seconds(f.jctP95S),
    seconds(f.jctP99S),
    shown(f.slowdownP99),
    seconds(f.ttftMeanS),
    shown(f.throughputReqS, 3),
    shown(f.batchMean),
    pinned
      .slice(0, 6)
      .map((share) => share.toFixed(2))
      .join(" "),
    shown(f.prefixHitRate, 2),
    shown(f.preemptions, 0),
    seconds(f.waitMaxS, 0),
    shown(f.contendedShare, 2),
    row.error === null ? settles : `failed: ${row.error.slice(0, 60)}`,
  ];
}

export function range([low, high]: readonly [number, number]): string {
  return high > 1e6 ? "one seed" : `${low.toFixed(3)} .. ${high.toFixed(3)}`;
}
