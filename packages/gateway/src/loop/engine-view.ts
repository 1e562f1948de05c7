import type { CoreConfig } from "@topas/core";
import type { EngineDescription } from "@topas/engines";

/** The engine's own account of itself, in the scheduler's terms. */
export function coreConfig(engine: EngineDescription): CoreConfig {
  return {
    budgetTokens: engine.kvBudgetTokens,
    blockTokens: engine.blockTokens,
    maxRunning: engine.maxRunning,
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
