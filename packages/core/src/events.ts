/**
 * Everything that can happen to the scheduler's state. `step(state, event)` is the only writer.
 * All times are monotonic seconds from one arbitrary origin; all sizes are tokens.
 */

/** A KV entry that can be resident without a running request: `prefix:<id>` (shared) or `session:<id>` (task-private). */
export type EntryId = `prefix:${string}` | `session:${string}`;

/** Declared (or inferred) shape of one task. Loops are legal when declared; an undeclared cycle is refused before it gets here. */
export interface Graph {
  readonly stages: readonly GraphStage[];
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly loops?: readonly GraphLoop[];
  /** Super-step frameworks: a stage is ready only when every stage of the level before is done (K31). */
  readonly barrier?: boolean;
}

export interface GraphStage {
  readonly id: string;
  /** Agent name as the orchestrator knows it; mapped to a prefix when its first call arrives. */
  readonly agent: string;
  /** Absent: one call ends the stage. Present: a ReAct stage whose number of rounds is unknown. */
  readonly rounds?: { readonly max: number; readonly mean: number };
  readonly join?: "all" | "any_success" | "all_done";
  /** Declared LLM service of the whole stage, seconds at reference speed. */
  readonly serviceSeconds?: number;
  readonly expectedOutputTokens?: number;
}

export interface GraphLoop {
  readonly stages: readonly string[];
  readonly max: number;
  readonly mean: number;
}

export interface TaskSpec {
  readonly id: string;
  readonly tenant: string;
  readonly workflow: string | null;
  /** Monotonic seconds; already clamped against foreign clocks by the caller (K76). */
  readonly arrivalSeconds: number;
  /** Operator's configuration only; a receipt can never set it. */
  readonly weight?: number;
}

/** Declared estimates of one task or stage. Every one of them may be absent, stale or absurd: core clamps and counts. */
export interface TaskHints {
  readonly remainingPathSeconds?: number;
  readonly remainingWorkSeconds?: number;
  readonly expectedOutputTokens?: number;
  readonly reserveTokens?: number;
  readonly nearTermReuse?: number;
  readonly toolWaitEndSeconds?: number;
  /** Stages the orchestrator says are ready now. */
  readonly readyStages?: readonly string[];
}

export interface RequestSpec {
  /** Unique within the process; never the client's id. */
  readonly id: string;
  readonly task: string;
  readonly stage: string;
  /** Tenant-scoped agent name, or the prefix id when no agent is known. */
  readonly agent: string;
  /** The engine's own identity and exact length of the shareable prefix; null: nothing to share. */
  readonly prefix: { readonly id: string; readonly tokens: number } | null;
  /** q_r: prompt tokens after the prefix (session history included). */
  readonly ownPromptTokens: number;
  readonly maxTokens: number;
  readonly expectedOutputTokens: number | null;
  /** Session entry this call can continue, and how many of its private tokens this prompt extends. */
  readonly session: { readonly id: string; readonly reusableTokens: number } | null;
}

export type CoreEvent =
  | { readonly kind: "taskArrived"; readonly at: number; readonly task: TaskSpec }
  | { readonly kind: "graphRevealed"; readonly at: number; readonly task: string; readonly graph: Graph }
  | {
      readonly kind: "receiptUpdated";
      readonly at: number;
      readonly task: string;
      readonly stage: string | null;
      readonly hints: TaskHints;
    }
  | { readonly kind: "ready"; readonly at: number; readonly request: RequestSpec }
  /** The loop will carry this decision out: promises, pins and credits are recorded here and nowhere else. */
  | { readonly kind: "committed"; readonly at: number; readonly decision: Decision }
  | { readonly kind: "loaded"; readonly at: number; readonly entry: EntryId; readonly computedTokens: number }
  | { readonly kind: "loadFailed"; readonly at: number; readonly entry: EntryId }
  /** Observed: by our own command or by the engine on its own. */
  | { readonly kind: "evicted"; readonly at: number; readonly entry: EntryId; readonly keptOnHost: boolean }
  | { readonly kind: "hostDropped"; readonly at: number; readonly entry: EntryId }
  | { readonly kind: "firstToken"; readonly at: number; readonly request: string }
  | { readonly kind: "progress"; readonly at: number; readonly deltas: readonly ProgressDelta[] }
  /** The call finished. `retained`: the engine kept this many private tokens as the call's session entry. */
  | { readonly kind: "roundDone"; readonly at: number; readonly request: string; readonly retainedTokens: number }
  | { readonly kind: "stageDone"; readonly at: number; readonly task: string; readonly stage: string }
  | { readonly kind: "stageSkipped"; readonly at: number; readonly task: string; readonly stage: string }
  | { readonly kind: "taskDone"; readonly at: number; readonly task: string }
  | { readonly kind: "cancelled"; readonly at: number; readonly request: string }
  | { readonly kind: "failed"; readonly at: number; readonly request: string }
  | { readonly kind: "taskCancelled"; readonly at: number; readonly task: string }
  /** by "us": confirmation of our own preempt (frees pendingFree, never decides). by "engine": forced, decides. */
  | {
      readonly kind: "preempted";
      readonly at: number;
      readonly request: string;
      readonly by: "us" | "engine";
      readonly keptTokens: number;
    }
  | { readonly kind: "refused"; readonly at: number; readonly request: string; readonly reason: string }
  | { readonly kind: "budgetChanged"; readonly at: number; readonly budgetTokens: number }
  /** The engine process died: residency is empty, every running request has left the engine. */
  | { readonly kind: "engineLost"; readonly at: number }
  | { readonly kind: "timer"; readonly at: number };

export interface ProgressDelta {
  readonly request: string;
  readonly prefilled: number;
  readonly decoded: number;
}

/** Plain data, carried out in the order preempt, evict, load, admit. */
export interface Decision {
  readonly policy: string;
  readonly atSeconds: number;
  readonly preempt: readonly PreemptAction[];
  readonly evict: readonly EvictAction[];
  readonly load: readonly LoadAction[];
  readonly admit: readonly AdmitAction[];
  /** Entries in ascending value: the first is the first to go when the engine itself runs short. A preference, never a lock. */
  readonly keep: readonly EntryId[];
  readonly why: readonly Why[];
  readonly wakeAtSeconds: number | null;
  /** Present when the search reached its work cap and took the best so far. */
  readonly searchTruncated?: true;
  /** Normalised scores only: spread of each kind of term over this decision's candidates, seconds. */
  readonly termSpread?: { readonly admit: number; readonly cost: number; readonly reuse: number };
}

export type PreemptMode = "cancel" | "redecode" | "swap";
export interface PreemptAction {
  readonly request: string;
  readonly mode: PreemptMode;
}
export interface EvictAction {
  readonly entry: EntryId;
  readonly keepHost: boolean;
}
export interface LoadAction {
  readonly entry: EntryId;
  readonly from: "host" | "compute";
}
export interface AdmitAction {
  readonly request: string;
  /** Tokens promised, prefix excluded. */
  readonly needTokens: number;
  /** lambda_r: gain credited at admission, frozen (Eq. 10). */
  readonly creditSeconds: number;
}

export type WaitReason = "didNotFit" | "behindGuard" | "slots" | "prefixLoading" | "cooldown" | "quota" | "paused" | "outranked";

/** Score terms in seconds (Eq. 13): value = admit - move - redo - revoke + reuse. */
export interface Terms {
  readonly admit: number;
  readonly move: number;
  readonly redo: number;
  readonly revoke: number;
  readonly reuse: number;
}

export type Why =
  | {
      readonly request: string;
      readonly action: "admitted" | "preempted";
      readonly gainSeconds: number;
      readonly costTokens: number;
      readonly roomBefore: number;
      readonly roomAfter: number;
    }
  | {
      readonly request: string;
      readonly action: "waiting";
      readonly reason: WaitReason;
      readonly costTokens: number;
      readonly roomTokens: number;
    }
  | { readonly candidate: "chosen" | "noop" | "runnerUp"; readonly terms: Terms; readonly totalSeconds: number };
