import { againstFair, clairvoyant } from "./answers/aims.ts";
import { compared, firstBehind, notWorseThanBest, within } from "./answers/compared.ts";
import { recovers, regret } from "./answers/gains.ts";
import { lost } from "./answers/lost.ts";
import { fades, shows } from "./answers/over.ts";
import { ranks } from "./answers/ranks.ts";
import type { Question } from "./presets/preset.ts";
import { bySetting, compare } from "./results/compare.ts";
import type { Comparison, Falsification, Run } from "./results/schema.ts";

type TabledRun = Run & { readonly table: string; readonly also?: readonly string[] };

/** Answers a question from the runs of its tables: one row a setting, one verdict over all. */
export function answer(question: Question, runs: readonly TabledRun[]): Falsification {
  const mine =
    question.tables.length === 0 ? runs : runs.filter((run) => tablesOf(run).some((table) => question.tables.includes(table)));
  const found = bySetting(mine).flatMap((group) =>
    question.metrics.flatMap((metric) =>
      question.policies.flatMap((policy) =>
        question.baselines.flatMap((baseline) => compare(group, policy, baseline, metric) ?? []),
      ),
    ),
  );
  const { test } = question;
  if (mine.length === 0 || (found.length === 0 && question.baselines.length > 0))
    return { test, question: question.question, verdict: "not measured", detail: "no pair of runs" };
  const said = answered(question, mine, found);
  const oneSeed = found.length > 0 && found.every(({ pairs }) => pairs < 2);
  return oneSeed && NEEDS_SEEDS.has(question.rule.kind) ? { ...said, verdict: "no verdict from one seed" } : said;
}

function tablesOf({ table, also = [] }: TabledRun): readonly string[] {
  return [table, ...also];
}

const NEEDS_SEEDS: ReadonlySet<string> = new Set(["compare", "within", "firstBehind", "fades"]);

function answered(question: Question, mine: readonly TabledRun[], found: readonly Comparison[]): Falsification {
  const { rule } = question;
  switch (rule.kind) {
    case "compare":
      return compared(question, found);
    case "firstBehind":
      return firstBehind(question, found);
    case "within":
      return within(question, found, rule.limit);
    case "best":
      return notWorseThanBest(question, found, rule.limit);
    case "recovers":
      return recovers(question, found);
    case "ranks":
      return ranks(question, mine);
    case "regret":
      return regret(question, found, mine);
    case "fair":
      return againstFair(question, mine, rule.percent, rule.fromLoad);
    case "clairvoyant":
      return clairvoyant(question, found, rule.percent);
    case "fades":
      return fades(question, found, rule.over);
    case "shows":
      return shows(question, mine, rule.over);
    case "losses":
      return lost(question, mine);
  }
}
