import { createHash } from "node:crypto";
import type { VolatilePrefix } from "../scheduler.ts";
import { createLru } from "./lru.ts";

const VOLATILE_KEPT = 100;
/** Prefixes of one name that are remembered: so many stable prompts an agent may have. */
const VARIANTS = 8;

export interface PrefixVerdict {
  /** Index of the first token in which this call's prefix differs from the ones before it; null: none seen so far. */
  readonly firstDiffToken: number | null;
  /** Tokens of the prefix that are worth keeping, in whole blocks. */
  readonly effectiveTokens: number;
  /** One of the last prefixes of this name: it has a few prompts, none of which is volatile. */
  readonly seenBefore: boolean;
  /** True on the one call at which a declared prefix was found to be volatile. */
  readonly warn: boolean;
}

export interface PrefixWatch {
  /** `name`: tenant-scoped agent or declared prefix id. Tokens as the engine will see them, never the JSON they came from. */
  observe(name: string, id: string, tokens: Int32Array, blockTokens: number): PrefixVerdict;
  /** Id of the first `length` of these tokens, which all calls of this name have in common. */
  commonId(name: string, tokens: Int32Array, length: number): string;
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
  const seen = createLru<Seen>(options.capacity ?? 1_000);
  const given = createLru<VolatilePrefix>(VOLATILE_KEPT);
  return {
    note(agent, firstDiffToken, declaredTokens) {
      given.set(agent, { agent, firstDiffToken, declaredTokens, calls: (given.get(agent)?.calls ?? 0) + 1 });
    },
    volatile: () => given.values(),
    commonId(name, tokens, length) {
      const known = seen.get(name);
      if (known?.shared?.length === length) return known.shared.id;
      const head = tokens.subarray(0, length);
      const bytes = new Uint8Array(head.buffer, head.byteOffset, head.byteLength);
      const id = createHash("sha256").update(`common\0${name}\0`).update(bytes).digest("hex").slice(0, 32);
      if (known) known.shared = { length, id };
      return id;
    },
    observe(name, id, tokens, blockTokens) {
      const before = seen.get(name);
      if (!before) {
        seen.set(name, { tokens: tokens.slice(), common: Number.POSITIVE_INFINITY, variants: [id], shared: null });
        return { firstDiffToken: null, effectiveTokens: wholeBlocks(tokens.length, blockTokens), seenBefore: false, warn: false };
      }
      const common = commonLength(before.tokens, tokens, before.common);
      const warn = Number.isFinite(common) && !Number.isFinite(before.common);
      before.common = common;
      const seenBefore = before.variants.includes(id);
      if (seenBefore) given.delete(name);
      before.variants = [...before.variants.filter((each) => each !== id), id].slice(-VARIANTS);
      return {
        firstDiffToken: Number.isFinite(common) ? common : null,
        effectiveTokens: wholeBlocks(Math.min(common, tokens.length), blockTokens),
        seenBefore,
        warn,
      };
    },
  };
}

interface Seen {
  /** Of its first call. */
  readonly tokens: Int32Array;
  /** Leading tokens that all calls had in common; Infinity: they were equal throughout. */
  common: number;
  /** Last ids, newest last. */
  variants: readonly string[];
  shared: { readonly length: number; readonly id: string } | null;
}

/** Infinity: equal throughout. */
function commonLength(a: Int32Array, b: Int32Array, limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let i = 0;
  while (i < end && a[i] === b[i]) i++;
  return i < limit && (i < a.length || i < b.length) ? i : limit;
}

function wholeBlocks(tokens: number, blockTokens: number): number {
  return Math.floor(tokens / blockTokens) * blockTokens;
}
