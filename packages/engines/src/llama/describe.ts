/** What the engine tells the scheduler about itself, from what the child found when it opened the model. */
import { basename } from "node:path";
import type { EngineDescription } from "../engine.ts";
import type { ResolvedOptions } from "./options.ts";
import type { ReadyMessage } from "./protocol.ts";

/** tiny5m on one server core: used when the warm-up could not measure. */
const UNMEASURED = { prefillSecondsPerToken: 2e-4, decodeSecondsPerToken: 1e-3, copyBytesPerSecond: 2e9 };

export function describeLlama(ready: ReadyMessage, options: ResolvedOptions): EngineDescription {
  const speeds = ready.speeds ?? UNMEASURED;
  const hostTier = options.hostTierBytes > 0;
  const made = /random weights/i.test(`${ready.modelName} ${ready.modelDescription}`);
  return {
    engine: "llama",
    version: ready.version,
    model: modelId(ready, options),
    wire: "tokens",
    kvBudgetTokens: ready.budgetTokens,
    blockTokens: 1,
    maxRunning: Math.min(options.maxRunning, ready.sequences),
    contextTokens: ready.contextTokens,
    kvBytesPerToken: ready.kvBytesPerToken,
    ...speeds,
    hostTier,
    keep: "enforced",
    load: "enforced",
    evict: "enforced",
    preempt: "enforced",
    redo: hostTier ? "swap" : "reprefill",
    residencySource: "own-books",
    notes: [
      `${ready.package}, llama.cpp ${ready.version}`,
      ready.system,
      `mode ${options.mode}, ${options.threads} thread(s), gpu layers ${options.gpuLayers}, chunk ${options.chunkTokens}`,
      ready.speeds === null ? "speeds: defaults, not measured" : "speeds: measured by a short warm-up",
      ...(made ? ["made model: random weights"] : []),
    ],
  };
}

/** The model's own name, else its file's. */
export function modelId(ready: ReadyMessage, options: ResolvedOptions): string {
  return ready.modelName === "" ? basename(options.modelPath, ".gguf") : ready.modelName;
}
