import { toBlocks } from "../config.ts";
import type { EntryId } from "../events.ts";
import type { AllOptions } from "../policy/baseline-options.ts";
import type { RequestState, State } from "../state.ts";

/** A call of the built-in prior: own prompt and output tokens (algorithm 2.3). */
const PRIOR_CALL = { promptTokens: 500, outputTokens: 418 } as const;

/** Who a quota belongs to: the prefix, or the agent where nothing is shared. */
export function agentKey(request: RequestState): string {
  return request.prefix ?? `agent:${request.spec.agent}`;
}

export interface Partition {
  /** Prefixes that stay: best expected area rate per token first, until `pinnedShare` of B. */
  readonly pinned: ReadonlySet<string>;
  /** Tokens each agent's running requests hold or were promised, its prefix included unless pinned. */
  readonly used: Map<string, number>;
  quotaTokens(key: string): number;
  /** Tokens of the agent's prefix that count into its quota. */
  prefixTokens(key: string): number;
}

/** quota_a = max(smallest + (pinned ? 0 : l_a), share of the rest of B by expected area). */
export function partition(state: State, options: AllOptions): Partition {
  const budget = state.ledger.budgetTokens ?? Infinity;
  const areas = expectedAreas(state);
  const pinned = new Set<string>();
  let left = options.pinnedShare * budget;
  const byRate = [...areas]
    .filter(([key]) => tokensOf(state, key) > 0)
    .toSorted(([a, areaA], [b, areaB]) => areaB / tokensOf(state, b) - areaA / tokensOf(state, a) || (a < b ? -1 : 1));
  for (const [key] of byRate) {
    const tokens = tokensOf(state, key);
    if (tokens > left) continue;
    pinned.add(key);
    left -= tokens;
  }
  const pinnedTokens = [...pinned].reduce((sum, key) => sum + tokensOf(state, key), 0);
  const total = [...areas.values()].reduce((sum, area) => sum + area, 0);
  const prefixTokens = (key: string): number => (pinned.has(key) ? 0 : tokensOf(state, key));
  const used = new Map<string, number>();
  for (const request of state.running.values()) {
    const key = agentKey(request);
    used.set(key, (used.get(key) ?? prefixTokens(key)) + request.promisedTokens);
  }
  return {
    pinned,
    used,
    prefixTokens,
    quotaTokens(key) {
      const share = total > 0 ? (areas.get(key) ?? 0) / total : 0;
      return Math.max(
        toBlocks(state.config, options.smallestQuotaTokens) + prefixTokens(key),
        share === 0 ? 0 : share * Math.max(0, budget - pinnedTokens),
      );
    },
  };
}

function tokensOf(state: State, key: string): number {
  return state.entries.get(key as EntryId)?.tokens ?? 0;
}

/** Calls seen x area of the mean call, one call of the prior added, so that a new agent has a share too; token-seconds. */
function expectedAreas(state: State): ReadonlyMap<string, number> {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  const area = (q: number, o: number): number => h * (q * o + (o * o) / 2) + p * q * q;
  const prior = area(PRIOR_CALL.promptTokens, PRIOR_CALL.outputTokens);
  const areas = new Map<string, number>();
  for (const request of state.requests.values()) areas.set(agentKey(request), prior);
  for (const [agent, entry] of state.agentPrefix) {
    const stats = state.profile.stats.get(agent);
    const seen = stats === undefined ? 0 : stats.calls * area(stats.promptTokens, stats.outputTokens);
    if (state.entries.has(entry)) areas.set(entry, (areas.get(entry) ?? prior) + seen);
  }
  return areas;
}
