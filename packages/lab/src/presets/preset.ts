import type { MetricName } from "../results/metrics.ts";
import type { Grid } from "../grid/grid.ts";

/** What an experiment is: tables to fill and questions to answer from them. Data, so that another one needs no code. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  /** On two idle cores: from the processor time of runs with fewer seeds. */
  readonly minutes: number;
  readonly seeds: number;
  readonly capacityTasks: number;
  readonly grids: readonly Grid[];
  readonly questions: readonly Question[];
  /** Arms whose decisions are timed; the first grid's first workload. */
  readonly timed: readonly string[];
}

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
 * compare: wins, ties or loses per setting, pooled over settings. within: |ratio - 1| below the limit in every setting.
 * recovers: the share of the first policy's gain over the first baseline that the other baselines reach without it.
 * ranks: Kendall's tau of the policies between settings.
 * regret: how far above the references, and above the time a task takes alone, pooled over settings.
 */
export type Rule =
  | { readonly kind: "compare" }
  | { readonly kind: "within"; readonly limit: number }
  | { readonly kind: "recovers" }
  | { readonly kind: "regret" }
  | { readonly kind: "ranks" };
