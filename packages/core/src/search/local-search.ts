import type { Pool } from "./pool.ts";

/** Score of the set (one byte per group) in seconds, or -Infinity when infeasible or known not to exceed `beat`. */
export type Weigh = (set: Uint8Array, beat: number) => number;

/**
 * Local search over prefix sets (algorithm 3.3): from what is resident, the best single addition, else the best pair of
 * additions, while it improves; then single deletions and one-for-one replacements while they improve. O(pool^2) sets. Where
 * what is resident cannot all be used at once, it starts from what runs.
 */
export function localSearch(pool: Pool, choices: readonly number[], weigh: Weigh, exhausted: () => boolean): void {
  const set = new Uint8Array(pool.groups.length);
  const runs = (index: number): boolean => pool.groups[index]!.running.length > 0;
  for (const index of choices) {
    const { phase } = pool.groups[index]!.prefix!;
    if (runs(index) || phase === "resident" || phase === "loading") set[index] = 1;
  }
  let value = weigh(set, -Infinity);
  if (value === -Infinity) {
    for (const index of choices) set[index] = runs(index) ? 1 : 0;
    value = weigh(set, -Infinity);
  }
  /** Best of the tried flips so far: up to two groups to turn over. */
  let first = -1;
  let second = -1;
  const attempt = (a: number, b: number): void => {
    if (exhausted()) return;
    flip(set, a, b);
    const total = weigh(set, value + 1e-9);
    flip(set, a, b);
    if (total <= value + 1e-9) return;
    value = total;
    first = a;
    second = b;
  };
  const climbed = (): boolean => {
    if (first < 0) return false;
    flip(set, first, second);
    first = second = -1;
    return true;
  };
  const outside = (): number[] => choices.filter((at) => set[at] === 0 && pool.groups[at]!.heads.length > 0);

  do {
    for (const a of outside()) attempt(a, -1);
    if (first >= 0) continue;
    const out = outside();
    for (let i = 0; i < out.length; i++) for (let j = i + 1; j < out.length; j++) attempt(out[i]!, out[j]!);
  } while (climbed());
  do {
    const out = outside();
    for (const gone of choices.filter((at) => set[at] === 1)) {
      attempt(gone, -1);
      for (const added of out) attempt(gone, added);
    }
  } while (climbed());
}

function flip(set: Uint8Array, a: number, b: number): void {
  set[a]! ^= 1;
  if (b >= 0) set[b]! ^= 1;
}
