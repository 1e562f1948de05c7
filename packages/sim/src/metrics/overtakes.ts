import type { RequestLog } from "./run-log.ts";

/**
 * The most requests that became ready strictly later than some request and were admitted strictly before it. One that was never
 * admitted is overtaken by all admitted later arrivals. Counted with a Fenwick tree over ranks of admission.
 */
export function overtakesMax(requests: readonly Pick<RequestLog, "readySeconds" | "admittedSeconds">[]): number {
  const admission = (request: Pick<RequestLog, "admittedSeconds">): number => request.admittedSeconds ?? Infinity;
  const ranks = new Map([...new Set(requests.map(admission))].toSorted((a, b) => a - b).map((seconds, i) => [seconds, i + 1]));
  const tree = new Int32Array(ranks.size + 1);
  const add = (rank: number): void => {
    for (let i = rank; i < tree.length; i += i & -i) tree[i]! += 1;
  };
  const below = (rank: number): number => {
    let sum = 0;
    for (let i = rank - 1; i > 0; i -= i & -i) sum += tree[i]!;
    return sum;
  };
  const latestFirst = requests.toSorted((a, b) => b.readySeconds - a.readySeconds);
  let most = 0;
  for (let i = 0; i < latestFirst.length;) {
    let end = i;
    while (end < latestFirst.length && latestFirst[end]!.readySeconds === latestFirst[i]!.readySeconds) end += 1;
    const together = latestFirst.slice(i, end).map((request) => ranks.get(admission(request))!);
    for (const rank of together) most = Math.max(most, below(rank));
    together.forEach(add);
    i = end;
  }
  return most;
}
