import type { Question } from "./presets/preset.ts";
import { ranks } from "./ranks.ts";
import { bySetting, compare } from "./results/compare.ts";
import type { Comparison, Falsification, Run } from "./results/schema.ts";
import { geometricMean } from "./stats/describe.ts";

type TabledRun = Run & { readonly table: string };

/** Answers a question from the runs of its tables: one row a setting, one verdict over all. */
export function answer(question: Question, runs: readonly TabledRun[]): Falsification {
  const mine = runs.filter(({ table }) => question.tables.includes(table));
  const found = bySetting(mine).flatMap((group) =>
    question.metrics.flatMap((metric) =>
      question.policies.flatMap((policy) =>
        question.baselines.flatMap((baseline) => compare(group, policy, baseline, metric) ?? []),
      ),
    ),
  );
  const { test } = question;
  if (found.length === 0) return { test, question: question.question, verdict: "not measured", detail: "no pair of runs" };
  const { rule } = question;
  const oneSeed = found.every(({ pairs }) => pairs < 2) ? { verdict: "no verdict from one seed" } : {};
  switch (rule.kind) {
    case "compare":
      return { ...compared(question, found), ...oneSeed };
    case "within":
      return { ...within(question, found, rule.limit), ...oneSeed };
    case "recovers":
      return recovers(question, found);
    case "ranks":
      return ranks(question, mine);
    case "regret":
      return regret(question, found, mine);
  }
}

function compared({ test, question, policies }: Question, found: readonly Comparison[]): Falsification {
  const parts = policies.flatMap((policy) => {
    const mine = found.filter((row) => row.policy === policy);
    if (mine.length === 0) return [];
    const count = (verdict: Comparison["verdict"]): number => mine.filter((row) => row.verdict === verdict).length;
    const settled = mine.filter(({ unstable }) => !unstable);
    const pooled = (metric: string): string => {
      const ratios = settled.filter((row) => row.metric === metric).map(({ ratio }) => ratio);
      return ratios.length === 0 ? "no stable pair" : geometricMean(ratios).toFixed(3);
    };
    const wins = count("wins");
    const loses = count("loses");
    const verdict =
      loses > 0 && wins > 0 ? "mixed" : loses > 0 ? "loses" : wins === mine.length ? "wins" : wins > 0 ? "wins or ties" : "ties";
    const tally = `wins ${wins}, ties ${count("ties")}, loses ${loses} of ${mine.length}`;
    return [
      { policy, verdict, text: `${policy}: ${tally}; pooled ratio of mean ${pooled("jctMeanS")}, p99 ${pooled("jctP99S")}` },
    ];
  });
  return {
    test,
    question,
    verdict: parts.map(({ policy, verdict }) => `${policy} ${verdict}`).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. Pooled: geometric mean over settings in which both rows settle.`,
    rows: found.map(rowOf),
  };
}

function within({ test, question }: Question, found: readonly Comparison[], limit: number): Falsification {
  const outside = found.filter(({ ratio, ci95 }) => Math.abs(ratio - 1) > limit && (ci95[0] > 1 || ci95[1] < 1));
  const worst = found.toSorted((a, b) => Math.abs(b.ratio - 1) - Math.abs(a.ratio - 1))[0]!;
  const share = Math.max(...found.map(({ contendedShare }) => contendedShare));
  return {
    test,
    question,
    verdict: outside.length === 0 ? "holds" : "does not hold",
    detail: `${outside.length} of ${found.length} pairs differ by more than ${100 * limit} % with an interval that leaves out 1; farthest ${worst.policy} against ${worst.baseline}, ${worst.metric} ${worst.ratio.toFixed(3)} on ${worst.workload}; at most ${(100 * share).toFixed(0)} % of decisions contended`,
    rows: found.map(rowOf),
  };
}

/** Share of the first policy's gain over the first baseline that the other baselines reach by themselves (A4). */
function recovers({ test, question, policies, baselines }: Question, found: readonly Comparison[]): Falsification {
  const [policy] = policies;
  const [stock, ...simple] = baselines;
  const settings = new Map<string, Comparison[]>();
  for (const row of found.filter((each) => each.policy === policy)) {
    const key = JSON.stringify([row.workload, row.load, row.setting, row.metric]);
    settings.set(key, [...(settings.get(key) ?? []), row]);
  }
  const rows = [...settings.values()].flatMap((group) => {
    const base = group.find(({ baseline }) => baseline === stock);
    if (base === undefined || base.ratio >= 1) return [];
    return simple.flatMap((name) => {
      const other = group.find(({ baseline }) => baseline === name);
      if (other === undefined) return [];
      const share = (1 - base.ratio / other.ratio) / (1 - base.ratio);
      return [{ ...rowOf(base), verdict: `${name} reaches ${(100 * share).toFixed(0)} %`, share }];
    });
  });
  if (rows.length === 0)
    return { test, question, verdict: "no gain to explain", detail: `${policy} gains nothing over ${stock}` };
  const most = Math.max(...rows.map(({ share }) => share));
  return {
    test,
    question,
    verdict: `simple orders reach up to ${(100 * most).toFixed(0)} % of the gain`,
    detail: `${policy} over ${stock}; share that ${simple.join(", ")} reach without it`,
    rows,
  };
}

/** Pooled excess over each reference, and over the mean time alone, which no schedule can beat. Settings where both rows settle. */
function regret(
  { test, question, policies, baselines }: Question,
  found: readonly Comparison[],
  runs: readonly Run[],
): Falsification {
  const excess = (ratios: readonly number[]): string =>
    ratios.length === 0 ? "no stable pair" : `${(100 * (geometricMean(ratios) - 1)).toFixed(1)} %`;
  const parts = policies.map((policy) => {
    const overs = baselines.map((baseline) => {
      const pairs = found.filter((row) => row.policy === policy && row.baseline === baseline && !row.unstable);
      return `${excess(pairs.map(({ ratio }) => ratio))} over ${baseline}`;
    });
    const alone = runs.flatMap(({ policy: name, unstable, metrics: { jctMeanS, aloneMeanS } }) =>
      name !== policy || unstable || jctMeanS === null || aloneMeanS === null ? [] : [jctMeanS / aloneMeanS],
    );
    return { policy, first: overs[0]!, text: `${policy}: ${[...overs, `${excess(alone)} over alone`].join(", ")}` };
  });
  return {
    test,
    question,
    verdict: parts.map(({ policy, first }) => `${policy} ${first}`).join("; "),
    detail: parts.map(({ text }) => text).join(". "),
    rows: found.map(rowOf),
  };
}

function rowOf(row: Comparison): { where: string; verdict: string } & Record<string, unknown> {
  const { workload, arrival, load, budgetTokens, hostTier, setting, policy, baseline, metric, ratio, ci95, p, unstable } = row;
  const where = `${workload}, ${arrival}, load ${load?.toFixed(2) ?? "-"}, B ${budgetTokens}, host ${hostTier}, ${setting}`;
  const { contendedShare } = row;
  return { where, policy, baseline, metric, ratio, ci95: [...ci95], p, unstable, contendedShare, verdict: row.verdict };
}
