/** Opens a model and one context over it, refusing with a typed error whatever the KV operations cannot be trusted on. */
import { closeSync, openSync, readSync } from "node:fs";
import { EngineError } from "../engine.ts";
import type { Handle, Llama } from "./ffi.ts";
import { openLlama } from "./ffi.ts";
import type { OpenOptions } from "./protocol.ts";

/** ggml tensor types of KV cells. */
const KV_F16 = 1;
const KV_BF16 = 30;

export interface OpenModel {
  readonly llama: Llama;
  readonly model: Handle;
  readonly vocab: Handle;
  readonly ctx: Handle;
  readonly memory: Handle;
  /** Real size of the cache, read back: the wanted one rounded up to a multiple of 256. */
  readonly cells: number;
  /** Longest sequence the model was made for, at most `cells`. */
  readonly contextTokens: number;
  /** Sequence ids are 0..sequences-1. */
  readonly sequences: number;
  /** Rows a step can hold: a prefill chunk and one row for every sequence. */
  readonly batchRows: number;
  readonly kvBytesPerToken: number;
}

/**
 * @throws EngineError `model_not_found`, `model_not_gguf`, `model_load_failed`, `model_unsupported`, `context_failed`, and those of
 * {@link openLlama}.
 */
export async function openModel(options: OpenOptions): Promise<OpenModel> {
  requireGguf(options.modelPath);
  const llama = await openLlama();
  const model = llama.modelLoad(options.modelPath, { ...llama.modelDefaults(), n_gpu_layers: options.gpuLayers });
  if (model === null) throw new EngineError("model_load_failed", `${options.modelPath}: ${reason(llama)}`);
  const unsupported = unsupportedReason(llama, model);
  if (unsupported !== null) {
    llama.modelFree(model);
    throw new EngineError("model_unsupported", `${options.modelPath}: ${unsupported}`);
  }
  const sequences = Math.min(256, options.maxSequences);
  const batchRows = options.chunkTokens + sequences;
  const kvType = options.mode === "exact" ? KV_BF16 : KV_F16;
  const ctx = llama.contextNew(model, {
    ...llama.contextDefaults(),
    n_ctx: Math.ceil(options.kvTokens / 256) * 256,
    n_batch: batchRows,
    n_ubatch: batchRows,
    n_seq_max: sequences,
    n_threads: options.threads,
    n_threads_batch: options.threads,
    kv_unified: true,
    flash_attn_type: options.mode === "exact" ? 1 : -1,
    type_k: kvType,
    type_v: kvType,
  });
  if (ctx === null) {
    llama.modelFree(model);
    throw new EngineError("context_failed", `no context of ${options.kvTokens} tokens: ${reason(llama)}`);
  }
  const cells = llama.contextSize(ctx);
  const trained = Number(meta(llama, model, "context_length"));
  return {
    llama,
    model,
    vocab: llama.vocabOf(model),
    ctx,
    memory: llama.memory(ctx),
    cells,
    contextTokens: trained > 0 ? Math.min(trained, cells) : cells,
    sequences,
    batchRows,
    kvBytesPerToken: kvBytesPerToken(llama, model),
  };
}

export function closeModel(open: OpenModel): void {
  open.llama.contextFree(open.ctx);
  open.llama.modelFree(open.model);
}

function requireGguf(path: string): void {
  const magic = Buffer.alloc(4);
  let length = 0;
  try {
    const fd = openSync(path, "r");
    try {
      length = readSync(fd, magic, 0, 4, 0);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new EngineError("model_not_found", `cannot read ${path}`, 500, { cause });
  }
  if (length < 4 || magic.toString("latin1") !== "GGUF") throw new EngineError("model_not_gguf", `${path} is not a GGUF file`);
}

/** Partial sequence operations can fail on these [llama.cpp `llama_memory_seq_rm`], and all our sharing rests on them. */
export function unsupportedReason(
  llama: Pick<Llama, "slidingWindow" | "isHybrid" | "isRecurrent" | "hasEncoder">,
  model: Handle,
): string | null {
  if (llama.slidingWindow(model) > 0) return "sliding-window attention is not supported";
  if (llama.isHybrid(model)) return "hybrid models are not supported";
  if (llama.isRecurrent(model)) return "recurrent models are not supported";
  if (llama.hasEncoder(model)) return "encoder models are not supported";
  return null;
}

function meta(llama: Llama, model: Handle, key: string): string {
  return llama.meta(model, `${llama.meta(model, "general.architecture")}.${key}`);
}

/** K and V, two bytes a value (f16 and bf16 alike); NaN-free: 0 when the file does not say. */
function kvBytesPerToken(llama: Llama, model: Handle): number {
  const read = (key: string): number => Number(meta(llama, model, key)) || 0;
  const heads = read("attention.head_count");
  const headSize = heads > 0 ? read("embedding_length") / heads : 0;
  const keys = read("attention.key_length") || headSize;
  const values = read("attention.value_length") || headSize;
  return read("block_count") * (read("attention.head_count_kv") || heads) * (keys + values) * 2;
}

function reason(llama: Llama): string {
  return llama.log.slice(-3).join(" | ") || "llama.cpp gave no reason";
}
