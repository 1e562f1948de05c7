import { z } from "zod";
import { Metrics } from "./metrics.ts";

const text = z.string();
const positive = z.number().positive();

export const Evidence = z.enum(["simulated", "real-cpu", "real-gpu"]);
export type Evidence = z.infer<typeof Evidence>;

export const Manifest = z.looseObject({
  version: text,
  git: z.object({ commit: text.nullable(), dirty: z.boolean() }),
  host: z.object({ platform: text, arch: text, cpu: text, cores: z.number().int(), node: text }),
  profile: text,
  profileStatus: text,
  seeds: z.array(z.number().int()),
  command: text,
  preset: text,
  title: text,
  startedAt: text,
  minutes: z.number().nonnegative(),
  workers: z.number().int(),
  rules: z.object({ warmup: text, drain: text, stability: text, starvation: text, contended: text, load: text }).catchall(text),
});
export type Manifest = Readonly<z.infer<typeof Manifest>>;

/** Settings that rows of one table share are in `options.setting`; the rest of `options` is the row's own. */
export const Run = z.object({
  workload: text,
  arrival: text,
  load: z.number().nullable(),
  budgetTokens: positive,
  hostTier: text,
  policy: text,
  options: z.looseObject({
    setting: text,
    table: text.optional(),
    ratePerSecond: z.number().nullable(),
    rules: text,
    fit: text.nullable(),
    reserve: text.nullable(),
    maxTokens: z.union([text, z.number()]),
  }),
  condition: text,
  seed: z.number().int(),
  metrics: Metrics,
  /** Fingerprint of the task list; equal in every matched row. */
  inputs: text.default(""),
  /** Of the row: all seeds of this policy in this setting. */
  unstable: z.boolean().default(false),
  error: text.nullable().default(null),
});
export type Run = z.infer<typeof Run>;

export const Comparison = z.object({
  workload: text,
  arrival: text,
  load: z.number().nullable(),
  budgetTokens: positive,
  hostTier: text,
  setting: text,
  policy: text,
  baseline: text,
  metric: text,
  /** Candidate over baseline, ratio of means over seeds. */
  ratio: z.number(),
  ci95: z.tuple([z.number(), z.number()]),
  p: z.number(),
  /** Holm over all comparisons of the file. */
  pHolm: z.number(),
  pairs: z.number().int(),
  /** The higher of the two rows, mean over seeds. */
  contendedShare: z.number(),
  /** One of the two rows has seeds that do not settle: the ratio grows with the run. */
  unstable: z.boolean(),
  /** Equal engine, fit, reserve and limits; otherwise "as shipped". */
  sameEngine: z.boolean(),
  /** The baseline is of condition A, B or C: no joint policy, and no reference that knows the future. */
  rival: z.boolean().default(true),
  /** The best of the shipped baselines on this metric. */
  bestShipped: z.boolean(),
  /** The best row of an engine, reserve and limits equal to the candidate's that skips what does not fit, on this metric. */
  bestFair: z.boolean().default(false),
  verdict: z.enum(["wins", "ties", "loses"]),
});
export type Comparison = z.infer<typeof Comparison>;

/** How a report draws the rows of an answer: `value`, `over`, `series` and the keys of `only` are names of their fields. */
export const Chart = z.object({
  kind: z.enum(["forest", "lines"]),
  title: text,
  xLabel: text,
  yLabel: text,
  value: text,
  over: text.optional(),
  series: text,
  only: z.record(text, text).optional(),
  level: z.number().optional(),
});

export const Falsification = z.object({
  test: text,
  question: text,
  verdict: text,
  detail: text,
  rows: z.array(z.looseObject({ where: text, verdict: text })).optional(),
  charts: z.array(Chart).optional(),
});
export type Falsification = z.infer<typeof Falsification>;

export const Cost = z.object({ decisionP50Us: z.number(), decisionP95Us: z.number(), wallShare: z.number() });
export const Overhead = Cost.extend({ policies: z.record(text, Cost).optional(), note: text.optional() });
export type Overhead = z.infer<typeof Overhead>;

export const Clause = z.object({ clause: text, pass: z.boolean().nullable(), figure: text, detail: text });
export type Clause = z.infer<typeof Clause>;
export const Gate = z.object({
  decision: z.enum(["promote", "hold", "experimental"]),
  policy: text,
  reasons: z.array(text),
  clauses: z.array(Clause),
});
export type Gate = z.infer<typeof Gate>;

export const Target = z.object({
  workload: text,
  metric: text,
  policy: text,
  baseline: text,
  paperPercent: z.number().nullable(),
  targetPercent: z.number(),
  ourPercent: z.number(),
  ci95Percent: z.tuple([z.number(), z.number()]),
  met: z.boolean(),
  unstable: z.boolean(),
});
export type Target = z.infer<typeof Target>;

export const Capacity = z.object({ setting: text, tasksPerSecond: z.number(), by: text });

/** Of a live run: what the simulator says of the same calls, beside what was measured. Seconds, means over seeds. */
export const Prediction = z.object({
  workload: text,
  arrival: text,
  load: z.number(),
  policy: text,
  seeds: z.number().int(),
  measuredS: z.number(),
  predictedS: z.number(),
  errorPercent: z.number(),
  /** The same with step costs scaled to the time that the measured run spent in steps: what is left is the scheduling. */
  atSpeedErrorPercent: z.number().nullable(),
  /** Of the policies of this setting, measured against predicted; null: nothing to order. */
  kendallTau: z.number().nullable(),
});
export type Prediction = z.infer<typeof Prediction>;

/** The file `results.json`. */
export const Results = z.object({
  schema: z.literal("topas.results/1"),
  evidence: Evidence,
  manifest: Manifest,
  runs: z.array(Run),
  comparisons: z.array(Comparison),
  falsification: z.array(Falsification),
  overhead: Overhead,
  capacities: z.array(Capacity).optional(),
  targets: z.array(Target).optional(),
  predictions: z.array(Prediction).optional(),
  gate: Gate.optional(),
});
export type Results = z.infer<typeof Results>;
