import type { Decision, EntryId, Terms, WaitReason } from "../events.ts";
import type { TermScales } from "../score/score.ts";
import type { EntryState, RequestState, State } from "../state.ts";
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
  /** Another policy decides this view (router, fallback arms); null: this one does. Never called twice in one decision. */
  readonly delegate?: (view: View) => Policy | null;
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
  /** Limits beyond room and slots (quotas, pauses), prepared once per decision. */
  gate?(view: View): Gate;
  /** An order that keeps its own index decides from it, without a view of the whole queue (algorithm 5.4). */
  decide?(state: State, policy: Policy, nowSeconds: number): Decision;
}

/** Says why a request may not be taken now, and hears of each one taken. */
export interface Gate {
  refuse(request: RequestState): WaitReason | null;
  take(request: RequestState): void;
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
  /** Entries whose time to live is over: they go even when nothing is short. */
  expired?(view: View): readonly EntryState[];
  /** Next instant at which something expires, seconds; null: none. */
  expiresAtSeconds?(view: View): number | null;
  /** Absent prefixes worth loading without a request, best first; each is loaded only into space nobody needs. */
  prefetch?(view: View): readonly EntryState[];
}

export interface Preempt {
  readonly id: string;
  /** Voluntary preemption: never, or whatever the search asks for among the eligible. */
  readonly voluntary: boolean;
  eligible(view: View, request: RequestState, options: PolicyOptions): boolean;
  /** Voluntary preemption outside a search: the plan, or a better one with victims. Must stay feasible. */
  improve?(view: View, policy: Policy, plan: Plan): Plan;
}

/** Every knob of every policy; section 3.2 to 3.5 of the algorithm note names those of the search. */
export interface PolicyOptions extends SearchOptions, RivalOptions {
  /** stop: head of line. over: skip what does not fit. guarded: over, bounded by a reservation for the longest skipped. */
  readonly fit: "stop" | "over" | "guarded";
  /** Admit everything without a search when everything fits. */
  readonly allFits: boolean;
  /** False: no residency commands at all, no budget, no slots (passthrough). */
  readonly governs: boolean;
  /** False: an idle engine may stay idle beside a request that fits (only the literal variants, to show it). */
  readonly neverStalls: boolean;
  /** guarded: seconds a request may be skipped. null: max(10, 2 x its call seconds). */
  readonly holdSeconds: number | null;
  /**
   * A request overtaken this often heads the order and nobody who came later is admitted before it; null: no limit. Not for
   * orders with limits of their own (quotas, pauses), nor for the index, which has `maxWaitSeconds`.
   */
  readonly maxOvertakes: number | null;
}

/** The joint search and its score. */
export interface SearchOptions {
  /** Weight of V_reuse (Eq. 11). */
  readonly beta: number;
  /** Slope of aging (Eq. 12). */
  readonly rho: number;
  /** Share of E[Z] that counts as gain where the path gain is smaller. */
  readonly gainFloor: number;
  /** Multiplies J_revoke (Eq. 10). */
  readonly revokeFactor: number;
  readonly victimGuard: { readonly young: number; readonly times: number } | null;
  readonly guardScope: "stage" | "call";
  /**
   * paper: a retracted call is worth what is left of it, and a credit stays as it was at admission. kept: it counts with the
   * service it keeps, and a credit ages like the gains of those who would take the place (K08, K14); ours.
   */
  readonly sunkWork: "paper" | "kept";
  /** Uses that the evict value counts: n_a of Eq. 11, or soon_a too, which knows of tasks in a tool (K01); ours. */
  readonly reuseForecast: "paper" | "soon";
  /** K: caps admissions and preemptions of one decision separately. */
  readonly maxPerDecision: number;
  /** M: enumerate all prefix subsets up to this pool size. */
  readonly enumerateUpTo: number;
  /** Fill what still fits after the gains are exhausted. */
  readonly workConserving: boolean;
  readonly billSwapOut: boolean;
  /** False: T_move counts as 0 (topas-no-move). */
  readonly billMove: boolean;
  /** waiting: each task that waits for an incoming prefix pays the stall; all: running tasks too. */
  readonly stallBilling: "waiting" | "all";
  /** engine: what the engine can do; else this mode is executed and billed. */
  readonly redo: "engine" | "redecode" | "reprefill" | "swap";
  readonly redoBill: "actual" | "redecode";
  /** True: resident prefixes outside the chosen set leave and are billed. */
  readonly strictPool: boolean;
  /** n_a over the running set now, or over the one the plan leaves. */
  readonly reuseState: "before" | "after";
  /** Greedy choice by gain, or by gain per token needed. */
  readonly packBy: "gain" | "density";
  /** Finishing a call zeroes the whole stage, or only the call's own service. */
  readonly roundGain: "stage" | "call";
  /** Joint samples of a remaining path; 1: means only. */
  readonly samples: number;
  /** outside: mean over samples of the longest path; inside: longest path of means (topas-inside). */
  readonly expectation: "outside" | "inside";
  /** Outputs scaled by nothing, by the task's difficulty, or jointly per sample (2.6). */
  readonly difficulty: "mean" | "posterior" | "correlated";
  /** Factor on H_age, the moving mean of completed service. */
  readonly ageScale: number;
  /** admit: aging multiplies J_admit only; all: every term by the mean g of the tasks touched (topas-sym-age). */
  readonly ageTerms: "admit" | "all";
  /** seconds: path gain; pathShare: 60 s x gain/L_i; areaShare: 48,000 x gain/W_i, W_i in token-seconds. */
  readonly value: "seconds" | "pathShare" | "areaShare";
  /** one: R_t plus what admission needs, no set search (topas-one-set). */
  readonly sets: "search" | "one";
  /** True: each term divided by its own running scale (topas-norm). */
  readonly normalise: boolean;
  /** Most sets one search evaluates; beyond it the best so far is taken and `searchTruncated` is reported. */
  readonly maxEvaluations: number;
}

/** Key orders. */
export interface RivalOptions {
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
  /** Unpinned entries that leave even when nothing is short, with the sessions on them. */
  readonly leave?: readonly EntryState[];
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
  /** Spread of each kind of term over the candidates, seconds; only when the score is normalised. */
  readonly spread?: TermScales;
}
