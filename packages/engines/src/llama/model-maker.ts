/**
 * Makes labelled llama models with random weights, so that a real KV cache can be exercised without downloading anything:
 * their text is noise, their KV cells, batching and timings are real. Same recipe, same bytes.
 */
import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { EngineError } from "../engine.ts";
import type { GgufTensor, GgufValue } from "./gguf.ts";
import { readGgufHeader, tensorBytes, writeGguf } from "./gguf.ts";

export interface MadeModelShape {
  readonly vocab: number;
  readonly embd: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly ff: number;
  /** Digits of the words that are one token each, and how many there are: {@link wordText}. */
  readonly wordDigits: number;
  readonly words: number;
}

/** nano1m and tiny5m are for tests; s60m is for measurements; m135m has the shape of a real 135 M model. */
export const MADE_MODELS = {
  nano1m: { vocab: 1_024, embd: 128, layers: 4, heads: 2, kvHeads: 1, ff: 352, wordDigits: 3, words: 533 },
  tiny5m: { vocab: 4_096, embd: 256, layers: 6, heads: 4, kvHeads: 2, ff: 704, wordDigits: 4, words: 2_605 },
  s60m: { vocab: 8_192, embd: 640, layers: 12, heads: 10, kvHeads: 5, ff: 1_728, wordDigits: 4, words: 6_701 },
  m135m: { vocab: 49_152, embd: 576, layers: 30, heads: 9, kvHeads: 3, ff: 1_536, wordDigits: 4, words: 10_000 },
} as const satisfies Record<string, MadeModelShape>;

export type MadeModelName = keyof typeof MADE_MODELS;

/** Part of the file name and of the file: raised whenever the bytes change. */
const RECIPE = 1;

/** Tools stand inside the system turn, so that system and tools form one shareable prefix before any user message. */
export const MADE_CHAT_TEMPLATE = `{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for m in messages -%}
{%- if m.role == 'system' or m.role == 'developer' -%}
{%- set ns.system = ns.system + ('\\n' if ns.system else '') + m.content -%}
{%- endif -%}
{%- endfor -%}
{%- if ns.system or tools -%}
{{- '<|system|>\\n' + ns.system -}}
{%- if tools -%}
{{- '\\n[tools]' -}}
{%- for tool in tools -%}{{- '\\n' + (tool | tojson) -}}{%- endfor -%}
{%- endif -%}
{{- '</s>\\n' -}}
{%- endif -%}
{%- for m in messages -%}
{%- if m.role != 'system' and m.role != 'developer' -%}
{{- '<|' + m.role + '|>\\n' + (m.content if m.content else '') -}}
{%- if m.tool_calls -%}
{%- for call in m.tool_calls -%}{{- '\\n[call] ' + (call.function | tojson) -}}{%- endfor -%}
{%- endif -%}
{{- '</s>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\\n' -}}{%- endif -%}`;

/** ` w007`: exactly one token of a made model with that many digits, so a prompt of n words is n tokens (BOS apart). */
export function wordText(n: number, digits: number): string {
  return ` w${String(n).padStart(digits, "0")}`;
}

/** `$TOPAS_CACHE`, else `$XDG_CACHE_HOME/topas`, else `~/.cache/topas`. */
export function defaultCacheDir(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return env["TOPAS_CACHE"] || join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "topas");
}

export function isMadeModel(name: string): name is MadeModelName {
  return Object.hasOwn(MADE_MODELS, name);
}

/**
 * Path of the made model, written first when absent or not whole (temporary file, then rename: safe for several processes).
 * Rejects with `model_unknown` for another name; file-system errors pass through.
 */
export async function ensureModel(name: string, cacheDir: string = defaultCacheDir()): Promise<string> {
  if (!isMadeModel(name))
    throw new EngineError("model_unknown", `no made model "${name}"; known: ${Object.keys(MADE_MODELS).join(", ")}`);
  const path = join(cacheDir, `${name}-random-r${RECIPE}.gguf`);
  const plan = planModel(name);
  if (await isWhole(path, plan)) return path;
  await mkdir(cacheDir, { recursive: true });
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
  try {
    const handle = await open(temporary, "wx");
    try {
      await writeGguf(handle, plan.pairs, plan.tensors);
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  return path;
}

interface ModelPlan {
  readonly title: string;
  readonly pairs: readonly (readonly [string, GgufValue])[];
  readonly tensors: readonly GgufTensor[];
}

async function isWhole(path: string, plan: ModelPlan): Promise<boolean> {
  const size = await stat(path).then(
    (found) => found.size,
    () => -1,
  );
  if (size < 0) return false;
  const header = await readGgufHeader(path).catch(() => null);
  if (header === null || header.pairs.get("general.name") !== plan.title) return false;
  const data = plan.tensors.reduce((sum, { dims, type }) => sum + Math.ceil(tensorBytes(dims, type) / 32) * 32, 0);
  return size === header.dataOffset + data;
}

function planModel(name: MadeModelName): ModelPlan {
  const shape: MadeModelShape = MADE_MODELS[name];
  const title = `${name} random weights (made by topas)`;
  const vocabulary = makeVocabulary(shape.vocab);
  const number = (value: number): GgufValue => ({ type: "u32", value });
  const pairs: [string, GgufValue][] = [
    ["general.architecture", { type: "string", value: "llama" }],
    ["general.name", { type: "string", value: title }],
    ["general.file_type", number(7)],
    ["llama.context_length", number(131_072)],
    ["llama.embedding_length", number(shape.embd)],
    ["llama.block_count", number(shape.layers)],
    ["llama.feed_forward_length", number(shape.ff)],
    ["llama.attention.head_count", number(shape.heads)],
    ["llama.attention.head_count_kv", number(shape.kvHeads)],
    ["llama.attention.layer_norm_rms_epsilon", { type: "f32", value: 1e-5 }],
    ["llama.rope.dimension_count", number(shape.embd / shape.heads)],
    ["llama.rope.freq_base", { type: "f32", value: 10_000 }],
    ["llama.vocab_size", number(shape.vocab)],
    ["tokenizer.ggml.model", { type: "string", value: "llama" }],
    ["tokenizer.ggml.tokens", { type: "string[]", value: vocabulary.tokens }],
    ["tokenizer.ggml.scores", { type: "f32[]", value: vocabulary.tokens.map((_, index) => -index) }],
    ["tokenizer.ggml.token_type", { type: "i32[]", value: vocabulary.types }],
    ["tokenizer.ggml.bos_token_id", number(1)],
    ["tokenizer.ggml.eos_token_id", number(2)],
    ["tokenizer.ggml.unknown_token_id", number(0)],
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: true }],
    ["tokenizer.ggml.add_space_prefix", { type: "bool", value: false }],
    ["tokenizer.chat_template", { type: "string", value: MADE_CHAT_TEMPLATE }],
  ];
  return { title, pairs, tensors: makeTensors(shape) };
}

/**
 * Byte tokens, single characters and ` w` + digits. Every prefix of a word is a token too: without it the tokenizer's
 * pairwise merges would never reach the whole word.
 */
function makeVocabulary(size: number): { tokens: string[]; types: number[] } {
  const tokens = ["<unk>", "<s>", "</s>"];
  for (let byte = 0; byte < 256; byte++) tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  tokens.push("▁");
  for (let code = 33; code <= 126; code++) tokens.push(String.fromCharCode(code));
  tokens.push("\n");
  for (const letter of "abcdefghijklmnopqrstuvwxyz") tokens.push(`▁${letter}`);
  for (let digits = 1; tokens.length < size; digits++) {
    for (let n = 0; n < 10 ** digits && tokens.length < size; n++) tokens.push(`▁w${String(n).padStart(digits, "0")}`);
  }
  // Types of the file format: 1 normal, 2 unknown, 3 control, 6 byte.
  return { tokens, types: tokens.map((_, id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1)) };
}

function makeTensors({ embd, vocab, layers, heads, kvHeads, ff }: MadeModelShape): GgufTensor[] {
  const kv = (embd / heads) * kvHeads;
  const tensors: GgufTensor[] = [];
  const norm = (name: string): number =>
    tensors.push({
      name: `${name}.weight`,
      dims: [embd],
      type: "f32",
      chunks: () => [Buffer.from(new Float32Array(embd).fill(1).buffer)],
    });
  const matrix = (name: string, rows: number, columns: number): number => {
    const seed = tensors.length + 1;
    return tensors.push({
      name: `${name}.weight`,
      dims: [rows, columns],
      type: "q8_0",
      chunks: () => randomBlocks(rows, columns, seed),
    });
  };
  matrix("token_embd", embd, vocab);
  norm("output_norm");
  for (let layer = 0; layer < layers; layer++) {
    const block = `blk.${layer}`;
    norm(`${block}.attn_norm`);
    norm(`${block}.ffn_norm`);
    matrix(`${block}.attn_q`, embd, embd);
    matrix(`${block}.attn_k`, embd, kv);
    matrix(`${block}.attn_v`, embd, kv);
    matrix(`${block}.attn_output`, embd, embd);
    matrix(`${block}.ffn_gate`, embd, ff);
    matrix(`${block}.ffn_up`, embd, ff);
    matrix(`${block}.ffn_down`, ff, embd);
  }
  return tensors;
}

/** Uniform int8 has a deviation of 73.9, so this scale gives weights of deviation 1/√inputs: activations keep their size. */
function* randomBlocks(inputs: number, columns: number, seed: number): Generator<Uint8Array> {
  const scale = toHalf(1 / (73.9 * Math.sqrt(inputs)));
  const blocks = (inputs * columns) / 32;
  const shorts = new Uint16Array(17 * Math.min(blocks, 16_384));
  let state = Math.imul(seed, 0x9e3779b1) >>> 0 || 1;
  for (let done = 0; done < blocks;) {
    const count = Math.min(blocks - done, 16_384);
    for (let at = 0; at < count * 17; at += 17) {
      shorts[at] = scale;
      for (let i = 1; i < 17; i++) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        shorts[at + i] = state >>> 16;
      }
    }
    yield new Uint8Array(shorts.buffer, 0, count * 34);
    done += count;
  }
}

/** IEEE half of a small positive normal number, rounded down: enough for a scale. */
function toHalf(value: number): number {
  const exponent = Math.max(Math.floor(Math.log2(value)), -14);
  return ((exponent + 15) << 10) | Math.floor((value / 2 ** exponent - 1) * 1_024);
}
