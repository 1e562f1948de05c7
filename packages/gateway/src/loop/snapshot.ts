import type { Decision, State } from "@topas/core";
import type { EngineDescription } from "@topas/engines";
import type { StateSnapshot } from "../scheduler.ts";
import type { CallRecord } from "./records.ts";

/** `GET /v1/state`: a copy, safe to serialise. */
export function snapshot(input: {
  readonly state: State | null;
  readonly policy: string;
  readonly engine: EngineDescription | null;
  readonly nowSeconds: number;
  readonly waiting: ReadonlyMap<string, CallRecord>;
  readonly running: ReadonlyMap<string, CallRecord>;
  readonly tasks: number;
  readonly lastDecision: Decision | null;
}): StateSnapshot {
  const { state, nowSeconds } = input;
  const cost = (record: CallRecord): number => record.call.prompt.promptTokens + record.call.maxTokens;
  return {
    policy: input.policy,
    engine: input.engine,
    nowSeconds,
    budgetTokens: input.engine?.kvBudgetTokens ?? null,
    kv: state === null ? { free: 0, resident: 0, running: 0, promised: 0, pendingFree: 0 } : kvOf(state),
    waiting: [...input.waiting.values()].map((r) => ({
      id: r.call.id,
      task: r.call.identity.task,
      agent: r.call.identity.agent,
      waitedSeconds: nowSeconds - r.arrivedSeconds,
      costTokens: cost(r),
    })),
    running: [...input.running.values()].map((r) => ({
      id: r.call.id,
      task: r.call.identity.task,
      agent: r.call.identity.agent,
      ...runningOf(state, r.call.id),
    })),
    entries: state === null ? [] : entriesOf(state),
    tasks: input.tasks,
    lastDecision: input.lastDecision,
  };
}
