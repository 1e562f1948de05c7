import { InvalidArgumentError, Option, type Command } from "commander";
import { MADE_MODELS, engineDefaults, type EngineChoice, type MadeModel } from "../engine-choice.ts";

/** A whole number within bounds, or commander's own error naming the option. */
export const whole =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const n = Number(text);
    if (!Number.isInteger(n) || n < min || n > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}, got "${text}"`);
    return n;
  };

/** The options that choose and size the engine; the same for every command that runs one. */
export function engineOptions(command: Command): Command {
  const d = engineDefaults;
  return command
    .addOption(
      new Option("--engine <name>", "embedded engine, or an OpenAI-compatible server in front of which we stand")
        .choices(["llama", "openai"])
        .default(d.engine),
    )
    .option("--upstream <url>", "server of --engine openai (default: OPENAI_BASE_URL)")
    .option("--model <file.gguf>", "model file of the embedded engine (default: a made model with random weights)")
    .addOption(
      new Option("--made <name>", "which made model, when no --model is given").choices([...MADE_MODELS]).default(d.made),
    )
    .option("--kv <tokens>", "KV cache budget in tokens", whole(256), d.kvTokens)
    .option("--chunk <tokens>", "tokens per engine step", whole(16, 4096), d.chunkTokens)
    .option("--max-running <n>", "calls running at once", whole(1, 200), d.maxRunning)
    .addOption(
      new Option("--mode <mode>", "fast (f16) or exact (bf16: output never depends on the schedule)")
        .choices(["fast", "exact"])
        .default(d.mode),
    )
    .option("--gpu-layers <n>", "layers on the GPU (GPU builds only); -1 = all", whole(-1), d.gpuLayers)
    .option("--host-tier <mib>", "host memory for evicted KV; 0 = off", whole(0), d.hostTierMib)
    .option("--threads <n>", "engine threads", whole(1, 256), d.threads);
}

export interface EngineFlags {
  readonly engine: "llama" | "openai";
  readonly upstream?: string;
  readonly model?: string;
  readonly made: MadeModel;
  readonly kv: number;
  readonly chunk: number;
  readonly maxRunning: number;
  readonly mode: "fast" | "exact";
  readonly gpuLayers: number;
  readonly hostTier: number;
  readonly threads: number;
}

export function engineChoice(flags: EngineFlags, env: NodeJS.ProcessEnv = process.env): EngineChoice {
  const upstream = flags.upstream ?? env["OPENAI_BASE_URL"];
  return {
    engine: flags.upstream === undefined ? flags.engine : "openai",
    ...(upstream === undefined ? {} : { upstream }),
    ...(env["OPENAI_API_KEY"] === undefined ? {} : { upstreamKey: env["OPENAI_API_KEY"] }),
    ...(flags.model === undefined ? {} : { model: flags.model }),
    made: flags.made,
    kvTokens: flags.kv,
    chunkTokens: flags.chunk,
    maxRunning: flags.maxRunning,
    mode: flags.mode,
    gpuLayers: flags.gpuLayers,
    hostTierMib: flags.hostTier,
    threads: flags.threads,
  };
}
