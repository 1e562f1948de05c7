/** What a run left behind, whoever ran it: the simulator, the gateway's journal, a real engine. Metrics read nothing else. */
export interface RunLog {
  readonly tasks: readonly TaskLog[];
  readonly requests: readonly RequestLog[];
  /** Absent where the engine does not tell. */
  readonly steps?: readonly StepLog[];
  /** Seconds between tokens, and how often; absent: not recorded. */
  readonly gaps?: { readonly seconds: ArrayLike<number>; readonly counts: ArrayLike<number> };
  readonly decisions?: DecisionTotals;
  readonly engine: EngineFacts;
  /** End of the recording. */
  readonly endSeconds: number;
}

export interface TaskLog {
  readonly id: string;
  readonly tenant?: string;
  readonly arrivalSeconds: number;
  /** Null: not over when the recording ended. */
  readonly finishSeconds: number | null;
  readonly outcome: "done" | "failed" | "cancelled" | "open";
  /** Latest useful finish, counted from arrival. */
  readonly sloSeconds?: number;
  /** Time the task takes alone on an idle engine with a warm cache; what slowdown divides by. */
  readonly aloneSeconds?: number;
}

export interface RequestLog {
  readonly id: string;
  readonly task: string;
  readonly readySeconds: number;
  readonly admittedSeconds: number | null;
  readonly firstTokenSeconds: number | null;
  readonly finishSeconds: number | null;
  readonly outcome: "done" | "failed" | "cancelled" | "open";
  readonly prefixTokens: number;
  readonly promptTokens: number;
  readonly cachedTokens: number | null;
  readonly outputTokens: number;
  readonly preemptions: number;
  readonly redoneTokens: number;
}

export interface StepLog {
  readonly atSeconds: number;
  readonly seconds: number;
  readonly decodes: number;
  readonly prefillTokens: number;
  readonly chunks: number;
  /** Tokens of the budget in use: running, pinned or kept. */
  readonly heldTokens: number;
  /** Prefix tokens that running requests pin. */
  readonly pinnedTokens?: number;
  readonly pinnedPrefixes?: number;
}

export interface DecisionTotals {
  readonly count: number;
  /** Decisions that could not admit all that waited. */
  readonly contended?: number;
  readonly wallSeconds?: number;
}

export interface EngineFacts {
  readonly budgetTokens: number;
  readonly devices: number;
  readonly powerWatts?: { readonly prefill: number; readonly decode: number; readonly idle: number };
  readonly movedBytes?: number;
  readonly moveSeconds?: number;
}
