/** What {@link LlamaEngine} can be told. */
import type { OpenOptions, PrecisionMode } from "./protocol.ts";

export interface LlamaEngineOptions {
  /** A GGUF file. */
  readonly modelPath: string;
  /** KV budget B in tokens, rounded up to a multiple of 256 (default 8,192). All of it is allocated at start. */
  readonly kvTokens?: number;
  /** Prefill tokens per step at most (default 256): smaller reacts sooner, larger prefills faster. */
  readonly chunkTokens?: number;
  /** Calls the scheduler should run at once (default 16); the engine itself takes more. */
  readonly maxRunning?: number;
  /** Calls, prefixes and sessions together (default 4 x maxRunning + 16, at most 256). */
  readonly maxSequences?: number;
  /**
   * fast: f16 KV. exact: bf16 KV and flash attention; on one CPU thread a call's tokens are then independent of chunks, batch mates,
   * sharing, swaps and sessions. Not of cells freed by others below its own: attention adds up in the order of cells.
   */
  readonly mode?: PrecisionMode;
  /** Layers on the accelerator: 0 none (default), -1 all. */
  readonly gpuLayers?: number;
  /** Default 1: more threads collapse when others use the cores. */
  readonly threads?: number;
  /** Cap of KV kept in the engine process's memory after eviction and preemption, bytes (default 512 MiB); 0: no host tier. */
  readonly hostTierBytes?: number;
  /** Compare the books with the cache after every step and die if they differ. For tests. */
  readonly checkEveryStep?: boolean;
  /** Milliseconds without any sign of life, or in one step, after which the engine process is killed (default 30,000 and 300,000). */
  readonly hangMs?: number;
  readonly stepHangMs?: number;
  /** First pause before a restart, doubled up to 10 s (default 100), and failed restarts in a row before giving up (default 8). */
  readonly restartDelayMs?: number;
  readonly maxRestarts?: number;
}

export type ResolvedOptions = Required<LlamaEngineOptions>;

export function resolveOptions(o: LlamaEngineOptions): ResolvedOptions {
  const maxRunning = o.maxRunning ?? 16;
  return {
    kvTokens: 8192,
    chunkTokens: 256,
    mode: "fast",
    gpuLayers: 0,
    threads: 1,
    hostTierBytes: 512 * 1024 * 1024,
    checkEveryStep: false,
    hangMs: 30_000,
    stepHangMs: 300_000,
    restartDelayMs: 100,
    maxRestarts: 8,
    ...o,
    maxRunning,
    maxSequences: Math.min(256, o.maxSequences ?? 4 * maxRunning + 16),
  };
}

export function openOptions(o: ResolvedOptions): OpenOptions {
  const { modelPath, kvTokens, chunkTokens, maxSequences, mode, gpuLayers, threads, hostTierBytes, checkEveryStep } = o;
  return { modelPath, kvTokens, chunkTokens, maxSequences, mode, gpuLayers, threads, hostTierBytes, checkEveryStep };
}
