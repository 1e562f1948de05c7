import { homedir } from "node:os";
import { join } from "node:path";
import { EngineError, OpenAiEngine, type Engine } from "@topas/engines";

/** Names of the models that `ensureModel` can make: random weights, clearly labelled. */
export const MADE_MODELS = ["nano1m", "tiny5m", "s60m", "m135m"] as const;
export type MadeModel = (typeof MADE_MODELS)[number];

export interface EngineChoice {
  readonly engine: "llama" | "openai";
  /** Base URL of an OpenAI-compatible server, with or without `/v1`. */
  readonly upstream?: string;
  readonly upstreamKey?: string;
  /** A GGUF file; absent: the made model. */
  readonly model?: string;
  readonly made: MadeModel;
  readonly kvTokens: number;
  readonly chunkTokens: number;
  readonly maxRunning: number;
  readonly mode: "fast" | "exact";
  readonly gpuLayers: number;
  readonly hostTierMib: number;
  readonly threads: number;
}

export const engineDefaults: EngineChoice = {
  engine: "llama",
  made: "tiny5m",
  kvTokens: 8192,
  chunkTokens: 256,
  maxRunning: 16,
  mode: "fast",
  gpuLayers: 0,
  hostTierMib: 512,
  threads: 1,
};

export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return env["TOPAS_CACHE"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "topas");
}

/** Builds the engine, not yet started. @throws EngineError naming the option and the fix. */
export async function createEngine(choice: EngineChoice): Promise<Engine> {
  if (choice.engine === "openai") {
    if (choice.upstream === undefined) {
      throw new EngineError(
        "upstream_missing",
        "--engine openai needs --upstream URL (or OPENAI_BASE_URL in the environment)",
        400,
      );
    }
    return new OpenAiEngine({
      baseUrl: choice.upstream,
      ...(choice.upstreamKey === undefined ? {} : { apiKey: choice.upstreamKey }),
    });
  }
  const { LlamaEngine, ensureModel } = await import("@topas/engines/llama");
  const modelPath = choice.model ?? (await ensureModel(choice.made, cacheDirectory()));
  return new LlamaEngine({
    modelPath,
    kvTokens: choice.kvTokens,
    chunkTokens: choice.chunkTokens,
    maxRunning: choice.maxRunning,
    mode: choice.mode,
    gpuLayers: choice.gpuLayers,
    hostTierBytes: choice.hostTierMib * 1024 * 1024,
    threads: choice.threads,
  });
}
