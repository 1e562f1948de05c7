import type { KvIndex } from "./store.ts";

/** Uses expected soon of a prefix: waiting requests plus what frontier stages announce (soon_a, algorithm 2.9). */
export function soonOf(index: KvIndex, prefix: Parameters<KvIndex["soon"]["get"]>[0]): number {
  return (index.groups.get(prefix)?.line.size ?? 0) + (index.soon.get(prefix) ?? 0);
}

/** sum over pinned agents of soon_a * mean need, tokens: what they will want meanwhile (algorithm 5.2, `slots`). */
export function wantedByPinned(index: KvIndex): number {
  let wanted = 0;
  for (const { prefix, line, running } of index.groups.values()) {
    if (prefix === null || running.size === 0) continue;
    const sample = line.size > 0 ? line.tokens / line.size : meanOf(running);
    wanted += soonOf(index, prefix) * sample;
  }
  return wanted;
}

function meanOf(running: ReadonlySet<{ readonly needTokens: number }>): number {
  let sum = 0;
  for (const { needTokens } of running) sum += needTokens;
  return sum / running.size;
}
