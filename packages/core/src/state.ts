import { usableBudgetTokens, type CoreConfig } from "./config.ts";
import { emptyProfile, type Profile } from "./estimate/profile.ts";
import type { EntryId, PreemptMode, RequestSpec, TaskHints } from "./events.ts";
import type { CompiledGraph } from "./graph/compile.ts";

/** Everything core remembers. Plain data with one writer, `step`; every other reader must treat it as frozen. */
export interface State {
  readonly config: CoreConfig;
  nowSeconds: number;
  readonly tasks: Map<string, TaskState>;
  /** Live requests by id; each is in exactly one of `waiting`, `running`. */
  readonly requests: Map<string, RequestState>;
  /** In order of arrival in the queue. */
  readonly waiting: Map<string, RequestState>;
  /** In order of admission. */
  readonly running: Map<string, RequestState>;
  readonly entries: Map<EntryId, EntryState>;
  /** Session entries of each task, resident or not. */
  readonly sessionsOf: Map<string, Set<EntryState>>;
  /** frameKey(tenant, agent as the orchestrator names it) -> prefix entry of its last call. */
  readonly agentPrefix: Map<string, EntryId>;
  readonly ledger: Ledger;
  readonly profile: Profile;
  /** Compiled graphs and profile keys that tasks of the same shape share; bounded, rebuilt when missing. */
  readonly shared: { readonly graphs: Map<string, CompiledGraph>; readonly keys: Map<string, readonly string[]> };
  readonly ageScale: { completed: number; seconds: number };
  readonly counters: Record<string, number>;
  /** Admissions, newest last, at most `ADMISSION_LOG` of them: who overtook whom. */
  readonly admissions: AdmissionRecord[];
  /** Arrival numbers of everyone admitted so far, ascending, at most `ADMISSION_LOG` (overtakes.ts). */
  readonly admittedSeqs: number[];
  nextSeq: number;
  /** Decisions that admitted something so far; a request's passes are the difference to its own mark. */
  admittingDecisions: number;
  /** Instant of the last decision with a voluntary preemption (at most one per instant). */
  preemptedAtSeconds: number | null;
  /** Moving spread of the score terms, seconds; absent until a normalised score has decided. */
  termScales?: { readonly admit: number; readonly cost: number; readonly reuse: number };
}

/** Running sums in tokens. Physical: free + residentPrefix + residentSession + runningKv + pendingFree = B. */
export interface Ledger {
  budgetTokens: number | null;
  residentPrefix: number;
  residentSession: number;
  runningKv: number;
  pendingFree: number;
  promised: number;
  pinned: number;
}

export interface AdmissionRecord {
  readonly request: string;
  readonly readySeq: number;
  readonly admitSeq: number;
}

export const ADMISSION_LOG = 4096;

export interface RequestState {
  readonly spec: RequestSpec;
  readonly prefix: EntryId | null;
  /** Order of arrival in the queue; kept over a preemption. */
  readonly readySeq: number;
  readonly readySeconds: number;
  readonly passesMark: number;
  passesAtAdmission: number;
  admittedSeconds: number | null;
  admitSeq: number;
  /** Later arrivals admitted while this one ran: they overtook nobody. */
  passedWhileRunning: number;
  /** How often it had been overtaken when it was admitted. */
  overtakenAtAdmission: number;
  /** need_r while running, else 0. */
  promisedTokens: number;
  /** lambda_r (Eq. 10). */
  creditSeconds: number;
  /** Prompt tokens in KV, of `spec.ownPromptTokens + redoneTokens`. */
  filledTokens: number;
  /** Generated tokens that a resume prefills again instead of decoding. */
  redoneTokens: number;
  /** Tokens decoded since the last (re)start from a prefill. */
  decodedTokens: number;
  /** Cells held in the engine (whole blocks), 0 while waiting. */
  cells: number;
  /** Our preempt is under way: its cells sit in pendingFree and it cannot be admitted. */
  pendingFreeTokens: number;
  pendingMode: PreemptMode | null;
  /** Own prompt tokens it found in its session entry and need not compute. */
  reusedTokens: number;
  /** Private tokens kept in host memory by a swap; its cells count again from the first progress after a resume. */
  swappedTokens: number;
  preemptions: number;
  /** Of them, those the engine forced. */
  retractions: number;
  /** Not admitted at or before this instant (victims and refused requests). */
  cooldownSeconds: number | null;
  refusals: number;
  /** Since when other requests were admitted while this one did not fit. */
  skippedSinceSeconds: number | null;
}

export type EntryPhase = "absent" | "loading" | "resident" | "evicting";

export interface EntryState {
  readonly id: EntryId;
  readonly kind: "prefix" | "session";
  /** Whole blocks. */
  tokens: number;
  phase: EntryPhase;
  /** Tokens of it counted in the physical ledger: all of them once it is seen resident, none before. */
  cells: number;
  onHost: boolean;
  /** Running requests on a prefix; > 0: pinned. */
  users: number;
  /** Live requests that name it. */
  refs: number;
  /** Resident sessions that sit on this prefix's cells; it cannot leave before them. */
  sessions: number;
  loadFor: "requests" | "prefetch" | null;
  lastUseSeconds: number;
  lastUseSeq: number;
  /** Sessions: the prefix they sit on, their task, and whether nobody can continue them. */
  readonly base: EntryId | null;
  readonly task: string | null;
  dead: boolean;
}

export type StageStatus = "blocked" | "ready" | "running" | "toolWait" | "done" | "skipped" | "failed";

export interface StageState {
  readonly id: string;
  readonly agent: string;
  /** Profile keys, own first, then parents. */
  readonly keys: readonly string[];
  status: StageStatus;
  /** e_v: LLM service received by this visit of the stage, seconds at reference speed. */
  attainedSeconds: number;
  /** Of it, what preemptions of this visit destroyed and has to be done again. */
  lostSeconds: number;
  rounds: number;
  /** Calls finished in this task, all visits together. */
  visits: number;
  /** End of its last call; null: none yet. */
  roundEndSeconds: number | null;
  /** Sums over the calls of this visit, in the order of `STAGE` (estimate/profile.ts). */
  sums: number[] | null;
  /** Where its last finished visit stands in the profile, by level of `keys`. */
  marks: readonly number[] | null;
  declared: {
    readonly rounds: { readonly max: number; readonly mean: number } | null;
    readonly serviceSeconds: number | null;
    readonly outputTokens: number | null;
  };
  /** Not part of a declared graph. */
  readonly virtual: boolean;
  /** The live call, if any. */
  request: string | null;
  voluntaryPreemptions: number;
}

export interface LoopState {
  roundsDone: number;
  open: boolean;
  readonly doneInRound: Set<string>;
  overrun: boolean;
  exited: boolean;
}

export interface TaskState {
  readonly id: string;
  readonly tenant: string;
  readonly workflow: string | null;
  readonly arrivalSeconds: number;
  readonly weight: number;
  graph: CompiledGraph | null;
  readonly stages: Map<string, StageState>;
  /** By component index of the graph. */
  readonly loops: Map<number, LoopState>;
  /** Counts its events: what was derived from an older one is stale. Being admitted changes no length, so it has a count of its own. */
  revision: number;
  admissions: number;
  /** Over finished calls: sum of ln(output / profile mean) and of its square (difficulty, algorithm 2.6). */
  readonly outcome: { calls: number; logSum: number; logSquares: number };
  /** Undeclared structure: its first agent, and the specialists' longest path since that agent's last call (2.8). */
  lead: { readonly agent: string; visits: number; phaseSeconds: number; groupSeconds: number } | null;
  /** Stage of its last call. */
  lastStage: string | null;
  hints: TaskHints;
  /** Attained service when `hints.remainingPathSeconds` was stated. */
  hintAttainedSeconds: number;
  attainedSeconds: number;
  callsStarted: number;
  live: number;
  done: boolean;
  failure: string | null;
}

/** A fresh state: nothing resident, nobody waiting, nothing learned. */
/** A fresh state; `profile`: what an earlier run learned (`parseProfile`), taken over and written to. */
export function createState(config: CoreConfig, profile: Profile = emptyProfile()): State {
  return {
    config,
    nowSeconds: 0,
    tasks: new Map(),
    requests: new Map(),
    waiting: new Map(),
    running: new Map(),
    entries: new Map(),
    sessionsOf: new Map(),
    agentPrefix: new Map(),
    ledger: {
      budgetTokens: config.budgetTokens === null ? null : usableBudgetTokens(config, config.budgetTokens),
      residentPrefix: 0,
      residentSession: 0,
      runningKv: 0,
      pendingFree: 0,
      promised: 0,
      pinned: 0,
    },
    profile,
    shared: { graphs: new Map(), keys: new Map() },
    ageScale: { completed: 0, seconds: 1 },
    counters: {},
    admissions: [],
    admittedSeqs: [],
    nextSeq: 1,
    admittingDecisions: 0,
    preemptedAtSeconds: null,
  };
}

/** y_r: tokens generated so far, kept ones included. */
export function generatedTokens(request: RequestState): number {
  return request.redoneTokens + request.decodedTokens;
}

/** d_r: dynamic KV once prefilled, in tokens: own prompt plus everything generated. */
export function dynamicTokens(request: RequestState): number {
  return request.spec.ownPromptTokens + generatedTokens(request);
}

/** Tokens in KV now: the token sampled last is written only by the next step. */
export function heldTokens(request: RequestState): number {
  return request.filledTokens + Math.max(0, request.decodedTokens - 1);
}

/** Tokens in KV once its prompt (what it redoes included) is in. */
export function promptHeldTokens(request: RequestState): number {
  return request.spec.ownPromptTokens + request.redoneTokens + Math.max(0, request.decodedTokens - 1);
}

export function count(state: State, counter: string, by = 1): void {
  state.counters[counter] = (state.counters[counter] ?? 0) + by;
}
