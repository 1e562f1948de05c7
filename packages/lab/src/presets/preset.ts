import type { MetricName } from "../results/metrics.ts";
import type { Grid } from "../grid/grid.ts";

/** What an experiment is: tables to fill and questions to answer from them. Data, so that another one needs no code. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** On two idle cores: measured for paper and falsify, the others scaled from those by cells and by the cost of their arms. */
  readonly minutes: number;
  readonly seeds: number;
  readonly capacityTasks: number;
  readonly grids: readonly Grid[];
  readonly questions: readonly Question[];
  /** Studies that are no grid. */
  readonly steps?: readonly Step[];
  /** Arms whose decisions are timed; the first grid's first workload. */
  readonly timed: readonly string[];
}

/**
 * search: worst ratios over random tiny instances against brute force. calibration: predicted remaining paths against what
 * happens, with independent and with correlated residuals, and how many decisions that changes.
 */
export type Step =
  | { readonly kind: "search"; readonly test: string; readonly question: string; readonly instances: number }
  | {
      readonly kind: "calibration";
      readonly test: string;
      readonly question: string;
      readonly workloads: readonly string[];
      readonly load: number;
      readonly sigmas: readonly number[];
      readonly seeds: number;
      readonly tasks: number;
      readonly warmupTasks: number;
    };

/** One published claim, criticism or falsifier, and how the runs answer it. */
export interface Question {
  readonly test: string;
  readonly question: string;
  /** Tables it looks at. */
  readonly tables: readonly string[];
  readonly policies: readonly string[];
  readonly baselines: readonly string[];
  readonly metrics: readonly MetricName[];
  readonly rule: Rule;
}

/**
 * compare: wins, ties or loses per setting, pooled over settings. firstBehind: the same, and the first setting in which one loses.
 * within: |ratio - 1| below the limit in every setting. best: at most the limit above the best baseline of every setting.
 * recovers: the share of the first policy's gain over the first baseline that the other baselines reach without it.
 * ranks: Kendall's tau of the policies between settings.
 * regret: how far above the references, and above the time a task takes alone, pooled over settings.
 * fair: the aim against the strongest fair simple policy. clairvoyant: each policy against the reference of the same index.
 * fades: the ratio along the number that follows `over` in the setting. shows: figures along that number in the policy's name.
 * losses: shares of lost comparisons. No table named: all runs.
 */
export type Rule =
  | { readonly kind: "compare" | "firstBehind" | "recovers" | "regret" | "ranks" | "losses" }
  | { readonly kind: "within" | "best"; readonly limit: number }
  | { readonly kind: "fair"; readonly percent: number; readonly fromLoad: number }
  | { readonly kind: "clairvoyant"; readonly percent: number }
  | { readonly kind: "fades" | "shows"; readonly over: string };
