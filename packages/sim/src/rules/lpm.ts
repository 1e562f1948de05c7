import type { Call } from "../engine/call.ts";
import { RadixTree } from "../engine/radix-tree.ts";

const FALLBACK_ABOVE = 128;
const IN_BATCH_TOKENS = 32;

/**
 * SGLang's longest prefix match, in place (rule 6.1.6): longest cached prefix first, ties as queued. A request that hardly
 * matches but shares its start with an earlier waiting one goes last, so that one request warms the prefix for its siblings.
 */
export function sortLpm(tree: RadixTree, waiting: Call[]): void {
  if (waiting.length > FALLBACK_ABOVE) return;
  const siblings = new RadixTree({ evictWholeNodes: true, hostTokens: 0 });
  const key = new Map<Call, number>();
  for (const call of waiting) {
    const own = tree.match(call.path, call.target - 1).tokens;
    key.set(call, -own);
    if (own > IN_BATCH_TOKENS) continue;
    if (siblings.match(call.path, call.target).tokens >= IN_BATCH_TOKENS) key.set(call, Infinity);
    else siblings.insert(call.path, call.target);
  }
  const sorted = waiting.toSorted((a, b) => {
    const x = key.get(a)!;
    const y = key.get(b)!;
    return x === y ? 0 : x - y;
  });
  sorted.forEach((call, i) => (waiting[i] = call));
}
