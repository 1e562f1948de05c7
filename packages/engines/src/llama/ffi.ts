/**
 * libllama through koffi: the structs (defined once per process, since koffi names are global) and the functions we call.
 * Only the child process imports this file. Handles are addresses (bigint); NULL comes back as null.
 */
import { EngineError } from "../engine.ts";
import type { LibraryPlace } from "./abi.ts";
import { checkAbi, findLibraries } from "./abi.ts";

export type Handle = bigint;

/** A `llama_batch`: pointers to arrays that stay allocated; only `n_tokens` changes. */
export interface BatchStruct {
  n_tokens: number;
  token: Handle;
  embd: null;
  pos: Handle;
  n_seq_id: Handle;
  seq_id: Handle;
  logits: Handle;
}

type Params = Record<string, unknown>;

export interface Llama {
  readonly place: LibraryPlace;
  /** Warnings and errors since start, newest last, at most 40 lines. */
  readonly log: string[];
  version(): string;
  systemInfo(): string;
  modelDefaults(): Params;
  contextDefaults(): Params;
  chainDefaults(): Params;
  modelLoad(path: string, params: Params): Handle | null;
  modelFree(model: Handle): void;
  vocabOf(model: Handle): Handle;
  vocabSize(vocab: Handle): number;
  slidingWindow(model: Handle): number;
  isRecurrent(model: Handle): boolean;
  isHybrid(model: Handle): boolean;
  hasEncoder(model: Handle): boolean;
  chatTemplate(model: Handle): string | null;
  /** Empty string: no such key. */
  meta(model: Handle, key: string): string;
  contextNew(model: Handle, params: Params): Handle | null;
  contextFree(ctx: Handle): void;
  contextSize(ctx: Handle): number;
  seqMax(ctx: Handle): number;
  memory(ctx: Handle): Handle;
  decode(ctx: Handle, batch: BatchStruct): number;
  /** The same on a worker thread: the event loop stays free. One call in flight per context. */
  decodeAsync(ctx: Handle, batch: BatchStruct, done: (error: Error | null, code: number) => void): void;
  logitsAt(ctx: Handle, row: number): Handle | null;
  seqRemove(memory: Handle, seq: number, p0: number, p1: number): boolean;
  seqCopy(memory: Handle, from: number, to: number, p0: number, p1: number): void;
  /** −1: empty. */
  seqPosMin(memory: Handle, seq: number): number;
  seqPosMax(memory: Handle, seq: number): number;
  stateSize(ctx: Handle, seq: number): number;
  stateGet(ctx: Handle, into: Uint8Array, size: number, seq: number): number;
  /** 0: refused (no room, or not a state of this context); the target is then empty. */
  stateSet(ctx: Handle, from: Uint8Array, size: number, seq: number): number;
  chainNew(params: Params): Handle;
  chainAdd(chain: Handle, member: Handle): void;
  samplerFree(chain: Handle): void;
  sample(chain: Handle, ctx: Handle, row: number): number;
  greedy(): Handle;
  topK(k: number): Handle;
  topP(p: number, minKeep: number): Handle;
  minP(p: number, minKeep: number): Handle;
  temp(t: number): Handle;
  dist(seed: number): Handle;
  tokenize(vocab: Handle, text: Uint8Array, length: number, out: Int32Array, max: number, bos: boolean, special: boolean): number;
  piece(vocab: Handle, token: number, out: Uint8Array, length: number, lstrip: number, special: boolean): number;
  bos(vocab: Handle): number;
  eos(vocab: Handle): number;
  addsBos(vocab: Handle): boolean;
  isEog(vocab: Handle, token: number): boolean;
  /** `bytes` of zeroed native memory that lives as long as the process or until {@link release}. */
  allocate(bytes: number): Handle;
  release(pointer: Handle): void;
  view(pointer: Handle, bytes: number): ArrayBuffer;
}

let opened: Promise<Llama> | undefined;

/**
 * Loads ggml, then llama, chooses the CPU variant and runs the ABI guard. One library per process.
 * @throws EngineError `llama_package_missing`, `llama_abi_mismatch`.
 */
export function openLlama(): Promise<Llama> {
  opened ??= load();
  return opened;
}

async function load(): Promise<Llama> {
  const place = findLibraries();
  let koffi: typeof import("koffi").default;
  try {
    koffi = (await import("koffi")).default;
  } catch (cause) {
    throw new EngineError("llama_package_missing", "koffi is not installed; run: npm install koffi@3.3.4", 500, { cause });
  }
  const [p, i, u, f, b, z] = ["void *", "int32_t", "uint32_t", "float", "bool", "size_t"] as const;
  // In the order of the C declarations; the letters are the types above.
  const fields = (spec: string): Record<string, string> => {
    const types: Readonly<Record<string, string>> = { p, i, u, f, b, z };
    const out: Record<string, string> = {};
    for (const group of spec.trim().split(/\s*;\s*/)) {
      const [letter, ...names] = group.split(/\s+/);
      for (const name of names) out[name] = types[letter ?? ""] ?? p;
    }
    return out;
  };
  const batch = koffi.struct("topas_llama_batch", fields("i n_tokens; p token embd pos n_seq_id seq_id logits"));
  const modelParams = koffi.struct(
    "topas_llama_model_params",
    fields(`p devices tensor_buft_overrides; i n_gpu_layers split_mode load_mode lazy_mode main_gpu;
      p tensor_split progress_callback progress_callback_user_data kv_overrides;
      b vocab_only check_tensors use_extra_bufts no_host no_alloc load_mtp`),
  );
  const contextParams = koffi.struct(
    "topas_llama_context_params",
    fields(`u n_ctx n_batch n_ubatch n_seq_max n_rs_seq n_outputs_max n_outputs_max_per_seq; i n_threads n_threads_batch ctx_type
      rope_scaling_type pooling_type attention_type flash_attn_type; f rope_freq_base rope_freq_scale yarn_ext_factor
      yarn_attn_factor yarn_beta_fast yarn_beta_slow; u yarn_orig_ctx; f defrag_thold; p cb_eval cb_eval_user_data;
      i type_k type_v; p abort_callback abort_callback_data; b embeddings offload_kqv no_perf op_offload swa_full kv_unified;
      p samplers; z n_samplers; p ctx_other`),
  );
  const chainParams = koffi.struct("topas_llama_chain_params", fields("b no_perf"));
  const logProto = koffi.proto("void topas_llama_log(int level, const char *text, void *data)");

  const ggml = koffi.load(place.ggml);
  const lib = koffi.load(place.llama);
  const log: string[] = [];
  // Kept alive for the life of the process: the library may log at any time. Level 5 continues the line before.
  const onLog = koffi.register((level: number, text: string) => {
    if (level === 3 || level === 4) log.push(text.trimEnd());
    else if (level === 5 && log.length > 0 && text.trim() !== "." && text.trim() !== "") log.push(text.trimEnd());
    if (log.length > 40) log.splice(0, log.length - 40);
  }, koffi.pointer(logProto));
  lib.func("llama_log_set", "void", [koffi.pointer(logProto), p])(onLog, null);
  lib.func("llama_backend_init", "void", [])();
  ggml.func("ggml_backend_load_all_from_path", "void", ["str"])(place.folder);

  const modelDefaults = lib.func("llama_model_default_params", modelParams, []) as () => Params;
  const contextDefaults = lib.func("llama_context_default_params", contextParams, []) as () => Params;
  checkAbi({
    packageVersion: place.packageVersion,
    sizes: { batch: koffi.sizeof(batch), modelParams: koffi.sizeof(modelParams), contextParams: koffi.sizeof(contextParams) },
    modelDefaults: modelDefaults(),
    contextDefaults: contextDefaults(),
  });

  const fn = <T>(name: string, result: string | typeof batch, args: unknown[]): T =>
    lib.func(name, result as string, args as never) as T;
  const templateOf = fn<(m: Handle, name: null) => string | null>("llama_model_chat_template", "str", [p, p]);
  const metaOf = fn<(m: Handle, key: string, out: Uint8Array, size: number) => number>("llama_model_meta_val_str", i, [
    p,
    "str",
    p,
    z,
  ]);
  const decode = lib.func("llama_decode", i, [p, batch]);
  return {
    place,
    log,
    version: fn("llama_version", "str", []),
    systemInfo: fn("llama_print_system_info", "str", []),
    modelDefaults,
    contextDefaults,
    chainDefaults: fn("llama_sampler_chain_default_params", chainParams, []),
    modelLoad: fn("llama_model_load_from_file", p, ["str", modelParams]),
    modelFree: fn("llama_model_free", "void", [p]),
    vocabOf: fn("llama_model_get_vocab", p, [p]),
    vocabSize: fn("llama_vocab_n_tokens", i, [p]),
    slidingWindow: fn("llama_model_n_swa", i, [p]),
    isRecurrent: fn("llama_model_is_recurrent", b, [p]),
    isHybrid: fn("llama_model_is_hybrid", b, [p]),
    hasEncoder: fn("llama_model_has_encoder", b, [p]),
    chatTemplate: (model) => templateOf(model, null),
    meta: (model, key) => {
      const out = new Uint8Array(4096);
      const n = metaOf(model, key, out, out.length);
      return n <= 0 ? "" : Buffer.from(out.subarray(0, Math.min(n, out.length - 1))).toString("utf8");
    },
    contextNew: fn("llama_init_from_model", p, [p, contextParams]),
    contextFree: fn("llama_free", "void", [p]),
    contextSize: fn("llama_n_ctx", u, [p]),
    seqMax: fn("llama_n_seq_max", u, [p]),
    memory: fn("llama_get_memory", p, [p]),
    decode: decode as unknown as Llama["decode"],
    decodeAsync: decode.async as Llama["decodeAsync"],
    logitsAt: fn("llama_get_logits_ith", p, [p, i]),
    seqRemove: fn("llama_memory_seq_rm", b, [p, i, i, i]),
    seqCopy: fn("llama_memory_seq_cp", "void", [p, i, i, i, i]),
    seqPosMin: fn("llama_memory_seq_pos_min", i, [p, i]),
    seqPosMax: fn("llama_memory_seq_pos_max", i, [p, i]),
    stateSize: fn("llama_state_seq_get_size", z, [p, i]),
    stateGet: fn("llama_state_seq_get_data", z, [p, p, z, i]),
    stateSet: fn("llama_state_seq_set_data", z, [p, p, z, i]),
    chainNew: fn("llama_sampler_chain_init", p, [chainParams]),
    chainAdd: fn("llama_sampler_chain_add", "void", [p, p]),
    samplerFree: fn("llama_sampler_free", "void", [p]),
    sample: fn("llama_sampler_sample", i, [p, p, i]),
    greedy: fn("llama_sampler_init_greedy", p, []),
    topK: fn("llama_sampler_init_top_k", p, [i]),
    topP: fn("llama_sampler_init_top_p", p, [f, z]),
    minP: fn("llama_sampler_init_min_p", p, [f, z]),
    temp: fn("llama_sampler_init_temp", p, [f]),
    dist: fn("llama_sampler_init_dist", p, [u]),
    tokenize: fn("llama_tokenize", i, [p, p, i, p, i, b, b]),
    piece: fn("llama_token_to_piece", i, [p, i, p, i, i, b]),
    bos: fn("llama_vocab_bos", i, [p]),
    eos: fn("llama_vocab_eos", i, [p]),
    addsBos: fn("llama_vocab_get_add_bos", b, [p]),
    isEog: fn("llama_vocab_is_eog", b, [p, i]),
    allocate: (bytes) => koffi.alloc("uint8_t", bytes) as Handle,
    release: (pointer) => koffi.free(pointer),
    view: (pointer, bytes) => koffi.view(pointer, bytes),
  };
}
