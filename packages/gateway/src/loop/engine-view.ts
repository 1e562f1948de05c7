import type { CoreConfig, PolicyChanges } from "@topas/core";
import type { EngineDescription } from "@topas/engines";

/** The engine's own account of itself, in the scheduler's terms. */
export function coreConfig(engine: EngineDescription): CoreConfig {
  return {
    budgetTokens: engine.kvBudgetTokens,
    blockTokens: engine.blockTokens,
    maxRunning: engine.maxRunning ?? Number.POSITIVE_INFINITY,
    contextTokens: engine.contextTokens,
    speeds: {
      prefillSecondsPerToken: engine.prefillSecondsPerToken,
      decodeSecondsPerToken: engine.decodeSecondsPerToken,
      kvBytesPerToken: engine.kvBytesPerToken ?? 0,
      copyBytesPerSecond: engine.copyBytesPerSecond,
    },
    hostTier: engine.hostTier,
    redo: engine.redo,
    failsOnOverflow: engine.redo === "unknown" && engine.kvBudgetTokens !== null,
    headroomTokens: 0,
  };
}

/** Can this engine be told anything about residency or a running request? */
export function obeysCommands(engine: EngineDescription): boolean {
  return [engine.keep, engine.load, engine.evict, engine.preempt].some((f) => f === "enforced" || f === "biased");
}

/**
 * What a policy id means on this engine. The embedded engine has no stock scheduler beside ours: there, passthrough is first
 * come first served, head of line stops, the whole `max_tokens` reserved (docs/decisions/0005).
 */
export function onEngine(engine: EngineDescription, id: string): { readonly id: string; readonly changes: PolicyChanges } {
  return id === "passthrough" && engine.wire === "tokens" ? { id: "fcfs", changes: { reserve: "full" } } : { id, changes: {} };
}
