/**
 * A small GGUF v3 writer and header reader: enough to make a llama model file and to look at one.
 * Layout: magic, version u32, tensor count u64, pair count u64, pairs, tensor infos, then data, every tensor aligned to 32 bytes.
 */
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { EngineError } from "../engine.ts";

export type GgufValue =
  | { readonly type: "u32" | "i32" | "f32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "i32[]" | "f32[]"; readonly value: readonly number[] }
  | { readonly type: "string[]"; readonly value: readonly string[] };

/** `dims` innermost first. `chunks` yields exactly the tensor's bytes; a yielded buffer may be reused after the next pull. */
export interface GgufTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly type: "f32" | "f16" | "q8_0";
  chunks(): Iterable<Uint8Array>;
}

const VALUE_TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const TENSOR_TYPE = { f32: 0, f16: 1, q8_0: 8 } as const;
const ALIGN = 32;

const padded = (bytes: number): number => Math.ceil(bytes / ALIGN) * ALIGN;

/** Bytes of a tensor: q8_0 packs 32 numbers into 34 bytes (an f16 scale and 32 int8). */
export function tensorBytes(dims: readonly number[], type: GgufTensor["type"]): number {
  const count = dims.reduce((product, dim) => product * dim, 1);
  return type === "f32" ? count * 4 : type === "f16" ? count * 2 : (count / 32) * 34;
}

function number(bytes: number, write: (view: DataView) => void): Uint8Array {
  const out = new Uint8Array(bytes);
  write(new DataView(out.buffer));
  return out;
}
const u32 = (value: number): Uint8Array => number(4, (view) => view.setUint32(0, value, true));
const u64 = (value: number): Uint8Array => number(8, (view) => view.setBigUint64(0, BigInt(value), true));
const f32 = (value: number): Uint8Array => number(4, (view) => view.setFloat32(0, value, true));
const i32 = (value: number): Uint8Array => number(4, (view) => view.setInt32(0, value, true));

function text(value: string): Uint8Array[] {
  const bytes = Buffer.from(value, "utf8");
  return [u64(bytes.length), bytes];
}

function encode(pair: GgufValue): Uint8Array[] {
  switch (pair.type) {
    case "u32":
      return [u32(VALUE_TYPE.u32), u32(pair.value)];
    case "i32":
      return [u32(VALUE_TYPE.i32), i32(pair.value)];
    case "f32":
      return [u32(VALUE_TYPE.f32), f32(pair.value)];
    case "bool":
      return [u32(VALUE_TYPE.bool), Uint8Array.of(pair.value ? 1 : 0)];
    case "string":
      return [u32(VALUE_TYPE.string), ...text(pair.value)];
    case "i32[]":
      return [u32(VALUE_TYPE.array), u32(VALUE_TYPE.i32), u64(pair.value.length), ...pair.value.map(i32)];
    case "f32[]":
      return [u32(VALUE_TYPE.array), u32(VALUE_TYPE.f32), u64(pair.value.length), ...pair.value.map(f32)];
    case "string[]":
      return [u32(VALUE_TYPE.array), u32(VALUE_TYPE.string), u64(pair.value.length), ...pair.value.flatMap(text)];
  }
}

/** Writes the whole file through `handle`, one chunk at a time. Same input, same bytes. */
export async function writeGguf(
  handle: FileHandle,
  pairs: readonly (readonly [key: string, value: GgufValue])[],
  tensors: readonly GgufTensor[],
): Promise<void> {
  const head: Uint8Array[] = [Buffer.from("GGUF", "latin1"), u32(3), u64(tensors.length), u64(pairs.length)];
  for (const [key, value] of pairs) head.push(...text(key), ...encode(value));
  let offset = 0;
  for (const { name, dims, type } of tensors) {
    head.push(...text(name), u32(dims.length), ...dims.map(u64), u32(TENSOR_TYPE[type]), u64(offset));
    offset += padded(tensorBytes(dims, type));
  }
  const header = Buffer.concat(head);
  await handle.writeFile(header);
  await pad(handle, header.length);
  for (const tensor of tensors) {
    let written = 0;
    for (const chunk of tensor.chunks()) {
      await handle.writeFile(chunk);
      written += chunk.length;
    }
    if (written !== tensorBytes(tensor.dims, tensor.type))
      throw new EngineError("model_invalid", `${tensor.name}: ${written} bytes given`);
    await pad(handle, written);
  }
}

async function pad(handle: FileHandle, length: number): Promise<void> {
  const missing = padded(length) - length;
  if (missing > 0) await handle.writeFile(new Uint8Array(missing));
}

export interface GgufHeader {
  readonly version: number;
  readonly tensorCount: number;
  /** Scalars and strings by key; an array is given by its length only. */
  readonly pairs: ReadonlyMap<string, string | number | boolean>;
  /** File offset where tensor data starts. */
  readonly dataOffset: number;
}

/** Reads the key-value part and the place of the data. Rejects with `model_invalid` when the file is no GGUF. */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  const handle = await open(path, "r");
  try {
    const size = (await handle.stat()).size;
    for (let bytes = Math.min(size, 262_144); ; bytes = Math.min(size, bytes * 4)) {
      const buffer = Buffer.alloc(bytes);
      await handle.read(buffer, 0, bytes, 0);
      try {
        return parseHeader(buffer);
      } catch (cause) {
        if (bytes < size && cause instanceof RangeError) continue;
        throw new EngineError("model_invalid", `${path} is not a readable GGUF file`, 500, { cause });
      }
    }
  } finally {
    await handle.close();
  }
}

const WIDTH: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };

function parseHeader(buffer: Buffer): GgufHeader {
  let at = 4;
  const take = (bytes: number): number => ((at += bytes), at - bytes);
  const int = (): number => buffer.readUInt32LE(take(4));
  const long = (): number => Number(buffer.readBigUInt64LE(take(8)));
  const string = (): string => {
    const length = long();
    if (at + length > buffer.length) throw new RangeError("short header");
    const from = take(length);
    return buffer.toString("utf8", from, at);
  };
  const value = (type: number): string | number | boolean => {
    if (type === VALUE_TYPE.string) return string();
    if (type === VALUE_TYPE.array) {
      const [item, count] = [int(), long()];
      const width = WIDTH[item];
      if (width === undefined) for (let i = 0; i < count; i++) value(item);
      else take(width * count);
      return count;
    }
    const width = WIDTH[type];
    if (width === undefined) throw new TypeError(`value type ${type}`);
    const from = take(width);
    if (type === VALUE_TYPE.bool) return buffer.readUInt8(from) !== 0;
    if (type === VALUE_TYPE.f32) return buffer.readFloatLE(from);
    if (type === 12) return buffer.readDoubleLE(from);
    if (width === 8) return Number(type === 10 ? buffer.readBigUInt64LE(from) : buffer.readBigInt64LE(from));
    return type === 1 || type === 3 || type === 5 ? buffer.readIntLE(from, width) : buffer.readUIntLE(from, width);
  };
  if (buffer.toString("latin1", 0, 4) !== "GGUF") throw new TypeError("magic");
  const version = int();
  if (version !== 2 && version !== 3) throw new TypeError(`version ${version}`);
  const tensorCount = long();
  const pairs = new Map<string, string | number | boolean>();
  for (let left = long(); left > 0; left--) pairs.set(string(), value(int()));
  for (let left = tensorCount; left > 0; left--) {
    string();
    take(int() * 8);
    take(12);
  }
  if (at > buffer.length) throw new RangeError("short header");
  return { version, tensorCount, pairs, dataOffset: padded(at) };
}
