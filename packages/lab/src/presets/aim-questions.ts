import { TASK_TIMES } from "../results/metrics.ts";
import type { Question } from "./preset.ts";

/** The aim against simple policies of the same engine and reserve, in the tables that hold them. */
export function strongestFair(tables: readonly string[], baselines: readonly string[]): Question {
  return {
    test: "aim: strongest fair simple policy",
    question: "At load 0.8 and above: mean 8 % lower than the best simple policy of the same engine and reserve, p99 not worse?",
    tables,
    policies: ["topas-guarded", "kv-index-safe", "kv-index-mean"],
    baselines,
    metrics: TASK_TIMES,
    rule: { kind: "fair", percent: 8, fromLoad: 0.8 },
  };
}

/** The aim against the same policies with the lengths known. */
export function regretToClairvoyance(tables: readonly string[]): Question {
  return {
    test: "aim: regret to clairvoyance",
    question: "Is each policy within 5 % of its own form that knows the lengths?",
    tables,
    policies: ["topas-guarded", "kv-index-safe"],
    baselines: ["topas-guarded foretold", "oracle-index"],
    metrics: TASK_TIMES,
    rule: { kind: "clairvoyant", percent: 5 },
  };
}
