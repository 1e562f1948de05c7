import type { VolatilePrefix } from "../scheduler.ts";
import { createLru } from "./lru.ts";

const VOLATILE_KEPT = 100;

export interface PrefixVerdict {
  /** Index of the first token in which this call's prefix differs from the ones before it; null: none seen so far. */
  readonly firstDiffToken: number | null;
  /** Tokens of the prefix that are worth keeping, in whole blocks. */
  readonly effectiveTokens: number;
  /** True on the one call at which a declared prefix was found to be volatile. */
  readonly warn: boolean;
}

export interface PrefixWatch {
  /** `name`: tenant-scoped agent or declared prefix id. Tokens as the engine will see them, never the JSON they came from. */
  observe(name: string, tokens: ArrayLike<number>, blockTokens: number): PrefixVerdict;
  /** This call's prefix was given up as volatile. */
  note(agent: string, firstDiffToken: number, declaredTokens: number): void;
  /** At most 100, last noted last. */
  volatile(): readonly VolatilePrefix[];
}

/**
 * Finds prefixes that are declared but not stable, such as a clock at the head of the system text (K04): what the calls of one
 * name have in common can only shrink, and only that much of the prefix has a residency value.
 */
export function createPrefixWatch(options: { readonly capacity?: number } = {}): PrefixWatch {
  const seen = createLru<{ readonly tokens: Uint32Array; readonly common: number }>(options.capacity ?? 1_000);
  const given = createLru<VolatilePrefix>(VOLATILE_KEPT);
  return {
    note(agent, firstDiffToken, declaredTokens) {
      given.set(agent, { agent, firstDiffToken, declaredTokens, calls: (given.get(agent)?.calls ?? 0) + 1 });
    },
    volatile: () => given.values(),
    observe(name, tokens, blockTokens) {
      const before = seen.get(name);
      if (!before) {
        seen.set(name, { tokens: Uint32Array.from(tokens), common: Number.POSITIVE_INFINITY });
        return { firstDiffToken: null, effectiveTokens: wholeBlocks(tokens.length, blockTokens), warn: false };
      }
      const common = commonLength(before.tokens, tokens, before.common);
      seen.set(name, { tokens: before.tokens, common });
      const changed = Number.isFinite(common);
      return {
        firstDiffToken: changed ? common : null,
        effectiveTokens: wholeBlocks(Math.min(common, tokens.length), blockTokens),
        warn: changed && !Number.isFinite(before.common),
      };
    },
  };
}

/** Infinity: equal throughout. */
function commonLength(a: Uint32Array, b: ArrayLike<number>, limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let i = 0;
  while (i < end && a[i] === b[i]) i++;
  return i < limit && (i < a.length || i < b.length) ? i : limit;
}

function wholeBlocks(tokens: number, blockTokens: number): number {
  return Math.floor(tokens / blockTokens) * blockTokens;
}
