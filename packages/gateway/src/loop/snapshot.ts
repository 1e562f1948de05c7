import { entrySnapshots, ledgerSnapshot, type Decision, type State } from "@topas/core";
import type { EngineDescription } from "@topas/engines";
import type { Fallback, StateSnapshot, VolatilePrefix } from "../scheduler.ts";
import type { CallRecord } from "./records.ts";

/** `GET /v1/state`: a copy, safe to serialise. */
export function snapshot(input: {
  readonly state: State;
  readonly policy: string;
  readonly fallback: Fallback | null;
  readonly volatilePrefixes: readonly VolatilePrefix[];
  readonly engine: EngineDescription | null;
  readonly nowSeconds: number;
  readonly waiting: ReadonlyMap<string, CallRecord>;
  readonly running: ReadonlyMap<string, CallRecord>;
  readonly tasks: number;
  readonly lastDecision: Decision | null;
}): StateSnapshot {
  const { state, nowSeconds } = input;
  const kv = ledgerSnapshot(state);
  const cost = (record: CallRecord): number => record.call.prompt.promptTokens + record.call.maxTokens;
  return {
    policy: input.policy,
    fallback: input.fallback,
    engine: input.engine,
    nowSeconds,
    budgetTokens: input.engine?.kvBudgetTokens ?? null,
    kv: {
      free: kv.freeTokens ?? 0,
      resident: kv.residentTokens,
      running: kv.runningTokens,
      promised: kv.promisedTokens,
      pendingFree: kv.pendingFreeTokens,
    },
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
      kvTokens: state.requests.get(r.call.id)?.cells ?? 0,
      generatedTokens: r.generatedTokens,
    })),
    entries: entrySnapshots(state)
      .filter((e) => e.phase !== "absent" || e.onHost)
      .map(({ phase, ...e }) => ({ ...e, state: phase })),
    tasks: input.tasks,
    volatilePrefixes: input.volatilePrefixes,
    lastDecision: input.lastDecision,
  };
}
