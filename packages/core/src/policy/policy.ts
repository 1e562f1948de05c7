import type { EntryId, Terms } from "../events.ts";
import type { EntryState, RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** A policy is a composition of four parts plus options; parts combine freely and by name. */
export interface Policy {
  readonly id: string;
  readonly description: string;
  /** Where the rule comes from. */
  readonly source: string;
  readonly order: Order;
  readonly reserve: Reserve;
  readonly evict: Evict;
  readonly preempt: Preempt;
  readonly options: PolicyOptions;
}

export type Order = KeyOrder | SearchOrder;

export interface KeyOrder {
  readonly kind: "keys";
  readonly id: string;
  /** True: keys change as time passes, so a tick is due while something waits. */
  readonly timeVarying: boolean;
  /** True: what a plan brings in changes the order of the rest, so the rest is sorted again until nothing more is taken. */
  readonly residencyBound: boolean;
  /** `queue`: requests still waiting; `incoming`: prefixes this plan has taken so far. */
  sort(view: View, queue: readonly RequestState[], incoming: ReadonlySet<EntryId>): readonly RequestState[];
}

/** Searches sets instead of sorting requests. */
export interface SearchOrder {
  readonly kind: "search";
  readonly id: string;
  /** Order of the all-fits fast path and of fills. */
  sort(view: View, queue: readonly RequestState[], incoming: ReadonlySet<EntryId>): readonly RequestState[];
  search(view: View, policy: Policy): SearchResult;
  /** Gains in admission order, for credits of paths outside the search. */
  credits(view: View, policy: Policy, admitted: readonly RequestState[]): readonly number[];
}

export interface Reserve {
  readonly id: string;
  /** need_r in tokens, prefix excluded, whole blocks. */
  need(view: View, request: RequestState): number;
  /** Tokens promised to these running requests together. */
  promised(view: View, running: readonly RequestState[]): number;
}

export interface Evict {
  readonly id: string;
  /** Prepared once per decision; ascending value leaves first, ties least recently used. */
  values(view: View): (entry: EntryState) => number;
}

export interface Preempt {
  readonly id: string;
  /** Voluntary preemption: never, or whatever the search asks for among the eligible. */
  readonly voluntary: boolean;
  eligible(view: View, request: RequestState, options: PolicyOptions): boolean;
}

export interface PolicyOptions {
  /** stop: head of line. over: skip what does not fit. guarded: over, bounded by a reservation for the longest skipped. */
  readonly fit: "stop" | "over" | "guarded";
  /** Admit everything without a search when everything fits. */
  readonly allFits: boolean;
  /** False: no residency commands at all, no budget, no slots (passthrough). */
  readonly governs: boolean;
  /** guarded: seconds a request may be skipped. null: max(10, 2 x its call seconds). */
  readonly holdSeconds: number | null;
  readonly beta: number;
  readonly rho: number;
  readonly gainFloor: number;
  readonly revokeFactor: number;
  readonly victimGuard: { readonly young: number; readonly times: number } | null;
  readonly guardScope: "stage" | "call";
  /** K: caps admissions and preemptions of one decision separately. */
  readonly maxPerDecision: number;
  /** M: enumerate all prefix subsets up to this pool size. */
  readonly enumerateUpTo: number;
  readonly workConserving: boolean;
  readonly billSwapOut: boolean;
  readonly redoBill: "actual" | "redecode";
  /** Most sets one search evaluates; beyond it the best so far is taken and `searchTruncated` is reported. */
  readonly maxEvaluations: number;
  /** lpm: above this many waiting the order falls back to plain queue order. Infinity: never. */
  readonly fallbackAbove: number;
  /** lpm: a request that matches at most 32 tokens and shares its prefix with an earlier waiting one goes last. */
  readonly inBatchRule: boolean;
}

export interface Admission {
  readonly request: RequestState;
  readonly needTokens: number;
  readonly gainSeconds: number;
}

/** A feasible plan before residency is worked out. */
export interface Plan {
  readonly admit: readonly Admission[];
  readonly preempt: readonly RequestState[];
}

export interface ScoredPlan extends Plan {
  readonly terms: Terms;
  readonly totalSeconds: number;
  /** Prefixes brought in. */
  readonly loads: number;
}

export interface SearchResult {
  readonly best: ScoredPlan;
  readonly noop: ScoredPlan;
  readonly runnerUp: ScoredPlan | null;
  /** Best among the candidates that admit something; what an idle engine runs instead of a no-op. */
  readonly bestAdmitting: ScoredPlan | null;
  readonly truncated: boolean;
}
