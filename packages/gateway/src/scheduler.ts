/**
 * What the HTTP side knows of the loop: hand a call over, get exactly one terminal event back.
 * The implementation (`loop.ts`) owns the clock, the core state, the policy and the engine.
 */
import type { Decision, Graph, PolicyChanges, TaskHints, Terms } from "@topas/core";
import type { EngineDescription, EngineSink, PreparedPrompt, Sampling } from "@topas/engines";

export interface ScheduledCall {
  /** Ours, unique in the process. */
  readonly id: string;
  readonly identity: CallIdentity;
  readonly prompt: PreparedPrompt;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
  readonly http: { readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array } | null;
  readonly sink: EngineSink;
  /** Called once when the call leaves the queue and goes to the engine. */
  readonly onAdmitted?: () => void;
}

/** Who is calling, after precedence receipt > plain headers > known agent headers > inferred. Ids are tenant-scoped strings. */
export interface CallIdentity {
  readonly tenant: string;
  readonly task: string;
  /** True: no receipt or session named the task; it is one call long and ends with it. */
  readonly taskIsCall: boolean;
  readonly workflow: string | null;
  readonly stage: string;
  readonly agent: string;
  readonly session: string | null;
  /** Seconds the task has already lived when first seen, clamped to [0, allowed lead]. */
  readonly ageSeconds: number;
  readonly graph: Graph | null;
  readonly hints: TaskHints | null;
  /** The client says this is the last call of the task. */
  readonly final: boolean;
  /** Stages that the orchestrator says are over. `failed` stages end for scheduling; what a failure means is the join's affair. */
  readonly ended?: readonly { readonly stage: string; readonly state: "done" | "failed" | "skipped" }[];
  readonly source: "receipt" | "headers" | "session" | "inferred";
}

export interface Scheduler {
  readonly policyId: string;
  /** null: the policy that was asked for is in force. */
  readonly fallback: Fallback | null;
  /** A call that came now would be refused with 429 `queue_full`. */
  readonly queueFull: boolean;
  engine(): EngineDescription | null;
  /** Throws a {@link GatewayError} (400 context_length_exceeded, 429 queue_full, 503 engine_unavailable, 410 task_cancelled) before anything is queued. */
  enqueue(call: ScheduledCall): void;
  /** Client gone: queued or running, the sink gets `end {reason: "cancelled"}`. Unknown ids are ignored. */
  cancel(id: string): void;
  /** After a sink's `raw` returned false. */
  resume(id: string): void;
  declareWorkflow(tenant: string, id: string, graph: Graph): void;
  receipt(identity: Omit<CallIdentity, "session" | "agent" | "stage"> & { readonly stage: string | null }): void;
  finishTask(tenant: string, task: string, outcome: "done" | "cancelled"): boolean;
  /** Without `options`: those this policy was last given. Throws a GatewayError 400 `unknown_policy` naming the known ids. */
  setPolicy(id: string, options?: PolicyChanges): void;
  explain(id: string): Explanation | null;
  snapshot(): StateSnapshot;
  counters(): Readonly<Record<string, number>>;
  /** For `/ready`: can it make progress? (K21) */
  health(): Health;
  close(): Promise<void>;
}

/** Why the scheduler runs on passthrough although something else was asked for. Until the next policy switch. */
export interface Fallback {
  /** The policy that failed. */
  readonly from: string;
  /** `policy_failed`: it threw. `no_progress`: calls waited, nothing ran, and it admitted nobody. */
  readonly reason: "policy_failed" | "no_progress";
  readonly message: string;
  /** Monotonic. */
  readonly atSeconds: number;
}

export interface Health {
  readonly ready: boolean;
  readonly reason: "shutting_down" | "engine_unavailable" | "no_progress" | null;
}

export interface VolatilePrefix {
  readonly agent: string;
  /** Index of the first token in which its calls differ. */
  readonly firstDiffToken: number;
  /** Length of the prefix it declares, in tokens. */
  readonly declaredTokens: number;
  readonly calls: number;
}

/** Why a call waited, in seconds; kept for the last 10,000 calls. */
export interface Explanation {
  readonly requestId: string;
  readonly task: string;
  readonly stage: string;
  readonly agent: string;
  readonly status: "waiting" | "running" | "done";
  readonly policy: string;
  readonly queuedSeconds: number;
  readonly runningSeconds: number | null;
  readonly passes: number;
  readonly overtakenBy: readonly string[];
  readonly waitedFor: readonly { readonly reason: string; readonly decisions: number; readonly seconds: number }[];
  readonly lastTerms: { readonly chosen: Terms; readonly noop: Terms } | null;
  readonly needTokens: number | null;
  readonly cachedTokens: number | null;
  readonly preemptions: number;
}

export interface StateSnapshot {
  readonly policy: string;
  readonly fallback: Fallback | null;
  readonly engine: EngineDescription | null;
  readonly nowSeconds: number;
  readonly budgetTokens: number | null;
  readonly kv: {
    readonly free: number;
    readonly resident: number;
    readonly running: number;
    readonly promised: number;
    readonly pendingFree: number;
  };
  readonly waiting: readonly {
    readonly id: string;
    readonly task: string;
    readonly agent: string;
    readonly waitedSeconds: number;
    readonly costTokens: number;
  }[];
  readonly running: readonly {
    readonly id: string;
    readonly task: string;
    readonly agent: string;
    readonly kvTokens: number;
    readonly generatedTokens: number;
  }[];
  readonly entries: readonly {
    readonly id: string;
    readonly tokens: number;
    readonly state: string;
    readonly users: number;
    readonly onHost: boolean;
  }[];
  readonly tasks: number;
  /** Agents whose declared prefix changes from call to call, last seen last: nothing of it is kept (K04). */
  readonly volatilePrefixes: readonly VolatilePrefix[];
  readonly lastDecision: Decision | null;
}
