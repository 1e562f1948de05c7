import { bootstrapRatio, type Pair } from "./stats/bootstrap.ts";
import { mean } from "./stats/describe.ts";
import { bestOf, bySetting } from "./results/compare.ts";
import type { Clause, Gate, Results, Run } from "./results/schema.ts";
import { createRng } from "@topas/sim";

/** Limits of the promotion gate (ruvnet/ruflo#3141). */
const GATE = { gain: 0.15, sureGain: 0.1, wallShare: 0.01, tail: 0.05, success: 0.001, noHarm: 0.02 } as const;

/** Workloads whose tail must not suffer, whatever is gained elsewhere; beside them whatever runs at low load. */
const PROTECTED = ["sop-as-shipped", "chat", "one-agent", "no-prefix"];
/** The same, by how the names begin: in live runs, what shares the engine with the workflow. */
const PROTECTED_BESIDE = ["chat beside ", "background beside "];
const REAL_WORKFLOW = "ruflo-r";
const LOW_LOAD = 0.3;

/** Rounding of binary fractions: 105.0 / 100.0 - 1 is above 0.05 in floating point. */
const EPSILON = 1e-9;

export interface GateOptions {
  /** Default: topas-guarded, which is served, where it ran, else the first joint policy. */
  readonly policy?: string;
  /** Default: the best scheduler that engines ship, per workload and metric. */
  readonly baseline?: string;
}

interface Cell {
  readonly label: string;
  readonly workload: string;
  readonly load: number | null;
  readonly mean: Figures | null;
  readonly p99: Figures | null;
  readonly success: readonly [candidate: number, baseline: number];
  readonly starved: number;
  readonly unstable: boolean;
}

interface Figures {
  readonly candidate: number;
  readonly baseline: number;
  readonly against: string;
  /** 95 % interval of the ratio; null with one seed. */
  readonly ci95: readonly [low: number, high: number] | null;
}

export const EXIT_CODES = { promote: 0, hold: 2, experimental: 3 } as const;

/** Recommends; never deploys. Every clause has its figure, passed or not; what was not measured cannot pass. */
export function judge(results: Results, options: GateOptions = {}): Gate {
  const policy = options.policy ?? defaultPolicy(results.runs);
  const cells = bySetting(results.runs).flatMap((group) => cellOf(group, policy, options.baseline) ?? []);
  if (cells.length === 0)
    return {
      decision: "hold",
      policy,
      reasons: ["not_measured"],
      clauses: [clause("runs", null, "none", `no run of ${policy}`)],
    };
  const real = cells.filter(({ workload }) => results.evidence !== "simulated" && workload.startsWith(REAL_WORKFLOW));
  const gainReal = best(real, GATE.sureGain);
  const gainAny = best(cells, 0);
  const guarded = cells.filter((cell) => isProtected(cell.workload) || isLowLoad(cell) || real.includes(cell));
  const shown = gainReal?.passes === true ? gainReal : gainAny;
  const counted = gainReal?.passes === true || shown === null ? guarded : [...new Set([...guarded, shown.cell])];
  const clauses = [
    gainClause("gain on a real Ruflo workflow", gainReal, GATE.sureGain, results.evidence),
    successClause(cells),
    overheadClause(results, policy),
    starvationClause(cells),
    tailClause(counted),
    noHarmClause(real.filter(isLowLoad)),
    clause(
      "protected workloads measured",
      guarded.length > 0 ? true : null,
      `${guarded.length} settings`,
      `${PROTECTED.join(", ")}, ${PROTECTED_BESIDE.map((name) => `${name}...`).join(", ")}, load up to ${LOW_LOAD}, and the real workflows themselves`,
    ),
  ];
  const failed = clauses.filter(({ pass }, i) => i > 0 && pass === false).map(({ clause: name }) => REASONS[name] ?? name);
  const unmeasured = clauses.some(({ pass }, i) => i > 0 && pass === null);
  const synthetic = gainClause("gain on any workload", gainAny, 0, results.evidence);
  const all = [...clauses.slice(0, 1), synthetic, ...clauses.slice(1)];
  const say = (decision: Gate["decision"], reasons: readonly string[]): Gate => ({
    decision,
    policy,
    reasons: [...reasons],
    clauses: all,
  });
  if (failed.length > 0) return say("hold", failed);
  if (gainReal?.passes === true) return unmeasured ? say("hold", ["not_measured"]) : say("promote", []);
  if (gainAny?.passes === true) return say("experimental", ["gains_only_on_synthetic_workloads"]);
  return say("hold", ["gain_below_15_percent"]);
}

const REASONS: Readonly<Record<string, string>> = {
  "matched task success": "success_not_matched",
  "scheduler below 1 % of wall time": "overhead",
  "no starvation": "starvation",
  "no protected tail worse by more than 5 %": "tail_regression",
  "no harm to a real workflow at low load": "harm_at_low_load",
};

function isProtected(workload: string): boolean {
  return PROTECTED.includes(workload) || PROTECTED_BESIDE.some((name) => workload.startsWith(name));
}

function isLowLoad({ load }: Cell): boolean {
  return load !== null && load <= LOW_LOAD + EPSILON;
}

function defaultPolicy(runs: readonly Run[]): string {
  const joint = runs.filter(({ condition }) => condition === "D");
  return joint.find(({ policy }) => policy === "topas-guarded")?.policy ?? joint[0]?.policy ?? "topas-guarded";
}

function cellOf(group: readonly Run[], policy: string, baseline: string | undefined): Cell | null {
  const ours = group.filter((run) => run.policy === policy);
  const current = [...new Set(group.filter(({ condition }) => condition === "A").map((run) => run.policy))];
  const against = baseline === undefined ? current : [baseline];
  const name = bestOf(group, against, "jctMeanS");
  if (ours.length === 0 || name === null) return null;
  const theirs = group.filter((run) => run.policy === name);
  const { workload, load, budgetTokens, hostTier, arrival } = ours[0]!;
  const success = (runs: readonly Run[]): number => mean(runs.map(({ metrics }) => metrics.successRate));
  return {
    label: `${workload}, ${arrival}, load ${load ?? "-"}, B ${budgetTokens}, host ${hostTier}`,
    workload,
    load,
    mean: figures(group, policy, name, "jctMeanS"),
    p99: figures(group, policy, bestOf(group, against, "jctP99S") ?? name, "jctP99S"),
    success: [success(ours), success(theirs)],
    starved: ours.reduce((sum, { metrics }) => sum + (metrics.starved ?? 0), 0),
    unstable: ours.some(({ unstable }) => unstable),
  };
}

function figures(group: readonly Run[], policy: string, against: string, metric: "jctMeanS" | "jctP99S"): Figures | null {
  const pairs = group.flatMap((run): Pair[] => {
    const other = group.find(({ policy: name, seed }) => name === against && seed === run.seed);
    const [a, b] = [run.metrics[metric], other?.metrics[metric] ?? null];
    return run.policy !== policy || a === null || b === null ? [] : [[a, b]];
  });
  if (pairs.length === 0) return null;
  const { ci95 } = bootstrapRatio(pairs, createRng(3_141));
  return {
    candidate: mean(pairs.map(([a]) => a)),
    baseline: mean(pairs.map(([, b]) => b)),
    against,
    ci95: pairs.length < 2 ? null : [ci95[0], ci95[1]],
  };
}

interface Gain {
  readonly cell: Cell;
  readonly metric: "mean" | "p99";
  readonly figures: Figures;
  readonly share: number;
  readonly passes: boolean;
}

/** The largest reduction of mean or p99; a gain that passes before one that does not. Its interval has to leave out `sure`. */
function best(cells: readonly Cell[], sure: number): Gain | null {
  const gains = cells.flatMap((cell) =>
    (["mean", "p99"] as const).flatMap((metric): Gain[] => {
      const found = cell[metric];
      if (found === null) return [];
      const share = 1 - found.candidate / found.baseline;
      const isSure = found.ci95 !== null && found.ci95[1] < 1 - sure;
      return [{ cell, metric, figures: found, share, passes: share >= GATE.gain - EPSILON && isSure && !cell.unstable }];
    }),
  );
  return gains.toSorted((a, b) => Number(b.passes) - Number(a.passes) || b.share - a.share)[0] ?? null;
}

function clause(name: string, pass: boolean | null, figure: string, detail: string): Clause {
  return { clause: name, pass, figure, detail };
}

function gainClause(name: string, gain: Gain | null, sure: number, evidence: Results["evidence"]): Clause {
  if (gain === null) return clause(name, null, "not measured", `evidence: ${evidence}`);
  const { cell, metric, figures: f, share, passes } = gain;
  const interval = `95 % interval of the ratio ${rangeOf(f)}, which has to end below ${(1 - sure).toFixed(2)}`;
  const note = cell.unstable ? ", but the candidate does not settle" : "";
  const seconds = `${metric} ${f.candidate.toFixed(1)} s against ${f.baseline.toFixed(1)} s of ${f.against}`;
  return clause(
    name,
    passes,
    `${(100 * share).toFixed(1)} % (limit ${100 * GATE.gain} %)`,
    `${cell.label}: ${seconds}; ${interval}${note}`,
  );
}

function successClause(cells: readonly Cell[]): Clause {
  const worst = cells.toSorted((a, b) => a.success[0] - a.success[1] - (b.success[0] - b.success[1]))[0]!;
  const [ours, theirs] = worst.success;
  const pass = ours >= theirs - GATE.success;
  return clause("matched task success", pass, `${(100 * ours).toFixed(1)} % against ${(100 * theirs).toFixed(1)} %`, worst.label);
}

function overheadClause({ overhead }: Results, policy: string): Clause {
  const cost = overhead.policies?.[policy] ?? overhead;
  const figure = `${(100 * cost.wallShare).toFixed(3)} % (limit 1 %)`;
  const detail = `decision p50 ${cost.decisionP50Us.toFixed(0)} us, p95 ${cost.decisionP95Us.toFixed(0)} us`;
  return clause("scheduler below 1 % of wall time", cost.wallShare < GATE.wallShare, figure, detail);
}

function starvationClause(cells: readonly Cell[]): Clause {
  const settled = cells.filter(({ unstable }) => !unstable);
  const worst = settled.toSorted((a, b) => b.starved - a.starved)[0];
  if (worst === undefined) return clause("no starvation", null, "not measured", "no setting settles");
  return clause("no starvation", worst.starved === 0, `${worst.starved} calls`, worst.label);
}

function tailClause(cells: readonly Cell[]): Clause {
  const name = "no protected tail worse by more than 5 %";
  const tails = cells.flatMap((cell) => (cell.p99 === null ? [] : [{ cell, f: cell.p99 }]));
  const worst = tails.toSorted((a, b) => b.f.candidate / b.f.baseline - a.f.candidate / a.f.baseline)[0];
  if (worst === undefined) return clause(name, null, "not measured", "no protected workload ran");
  const { cell, f } = worst;
  const rise = f.candidate / f.baseline - 1;
  const figure = `${(100 * rise).toFixed(1)} % (limit 5 %)`;
  const detail = `${cell.label}: p99 ${f.candidate.toFixed(1)} s against ${f.baseline.toFixed(1)} s of ${f.against}; ${rangeOf(f)}`;
  return clause(name, rise <= GATE.tail + EPSILON, figure, detail);
}

/** Harm: a mean worse by more than the limit whose interval leaves out 1. */
function noHarmClause(cells: readonly Cell[]): Clause {
  const name = "no harm to a real workflow at low load";
  const means = cells.flatMap((cell) => (cell.mean === null ? [] : [{ cell, f: cell.mean }]));
  const rise = (f: Figures): number => f.candidate / f.baseline - 1;
  const worst = means.toSorted((a, b) => rise(b.f) - rise(a.f))[0];
  if (worst === undefined) return clause(name, null, "not measured", `no real workflow ran at load up to ${LOW_LOAD}`);
  const harmed = means.some(({ f }) => rise(f) > GATE.noHarm + EPSILON && (f.ci95 === null || f.ci95[0] > 1));
  const { cell, f } = worst;
  const detail = `${cell.label}: mean ${f.candidate.toFixed(1)} s against ${f.baseline.toFixed(1)} s of ${f.against}; ${rangeOf(f)}`;
  return clause(
    name,
    !harmed,
    `${(100 * rise(f)).toFixed(1)} % (limit ${100 * GATE.noHarm} % unless the interval holds 1)`,
    detail,
  );
}

function rangeOf({ ci95 }: Figures): string {
  return ci95 === null ? "unknown with one seed" : `${ci95[0].toFixed(3)} .. ${ci95[1].toFixed(3)}`;
}
