import type { Question } from "../presets/preset.ts";
import { compareAll } from "../results/compare.ts";
import type { Falsification, Run } from "../results/schema.ts";

/** F4: over all runs of the file, the share of settings and metrics in which a policy loses to each other scheduler. */
export function lost({ test, question, policies }: Question, runs: readonly Run[]): Falsification {
  const found = compareAll(runs).filter(({ policy, rival }) => rival && policies.includes(policy));
  const pairs = new Map<string, typeof found>();
  for (const row of found) {
    const key = JSON.stringify([row.policy, row.baseline]);
    pairs.set(key, [...(pairs.get(key) ?? []), row]);
  }
  const rows = [...pairs.values()].map((group) => {
    const { policy, baseline } = group[0]!;
    const loses = group.filter(({ verdict }) => verdict === "loses").length;
    const share = loses / group.length;
    return {
      where: baseline,
      verdict: `loses ${loses} of ${group.length}`,
      policy,
      baseline,
      loses,
      comparisons: group.length,
      share,
    };
  });
  const parts = policies.flatMap((policy) => {
    const mine = rows.filter((row) => row.policy === policy);
    if (mine.length === 0) return [];
    const worst = mine.toSorted((a, b) => b.share - a.share)[0]!;
    const sum = (of: (row: (typeof rows)[number]) => number): number => mine.reduce((total, row) => total + of(row), 0);
    const all = `${policy} loses ${sum(({ loses }) => loses)} of ${sum(({ comparisons }) => comparisons)}`;
    const most = worst.loses === 0 ? "" : `, most often to ${worst.baseline} (${worst.loses} of ${worst.comparisons})`;
    return [{ all, text: `${all}${most}` }];
  });
  return {
    test,
    question,
    verdict: parts.map(({ all }) => all).join("; "),
    detail: `${parts.map(({ text }) => text).join(". ")}. A loss: the 95 % interval leaves out 1 to the wrong side. Every one is in the table of losses, worst first.`,
    rows: rows.filter(({ loses }) => loses > 0),
    charts: [
      {
        kind: "forest",
        title: "Share of settings and metrics lost to each scheduler",
        xLabel: "share of comparisons",
        yLabel: "",
        value: "share",
        series: "policy",
      },
    ],
  };
}
