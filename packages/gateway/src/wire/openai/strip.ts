import { parseJson } from "../../json.ts";

const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);
const COMMA = 0x2c;
const QUOTE = 0x22;

/** Members that are for us, or that no client may decide (K55); an upstream never sees the client's own. */
const OWN_MEMBERS: readonly string[] = ["topas", "prefix_tokens", "cache_salt", "kv_hints", "kv_transfer_params"];

/** The body without our top-level members. Every other byte stays what and where it was (K02). `body` is valid JSON of an object. */
export function stripOwnMembers(bytes: Uint8Array, body: Readonly<Record<string, unknown>>): Uint8Array {
  if (!OWN_MEMBERS.some((member) => Object.hasOwn(body, member))) return bytes;
  const kept: Uint8Array[] = [];
  let from = 0;
  for (const { key, start, end } of members(bytes)) {
    if (!OWN_MEMBERS.includes(key)) continue;
    kept.push(bytes.subarray(from, start));
    from = end;
  }
  kept.push(bytes.subarray(from));
  return withoutLooseComma(Buffer.concat(kept));
}

/** Top-level members with the comma that follows them. */
function* members(bytes: Uint8Array): Generator<{ key: string; start: number; end: number }> {
  let at = bytes.indexOf(0x7b) + 1;
  for (;;) {
    while (SPACE.has(bytes[at] ?? 0)) at++;
    if (bytes[at] !== QUOTE) return;
    const start = at;
    at = afterString(bytes, at);
    const key = String(parseJson(bytes.subarray(start, at)));
    let depth = 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) at = afterString(bytes, at) - 1;
      else if (OPEN.has(byte)) depth++;
      else if (depth === 0 && (byte === COMMA || byte === 0x7d)) break;
      else if (CLOSE.has(byte)) depth--;
    }
    if (bytes[at] === COMMA) at++;
    yield { key, start, end: at };
  }
}

function afterString(bytes: Uint8Array, quote: number): number {
  let at = quote + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === 0x5c ? 2 : 1;
  return at + 1;
}

/** Removing the last member leaves the comma before it. */
function withoutLooseComma(bytes: Buffer): Buffer {
  const close = bytes.lastIndexOf(0x7d);
  let at = close - 1;
  while (SPACE.has(bytes[at] ?? 0)) at--;
  return bytes[at] === COMMA ? Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]) : bytes;
}
