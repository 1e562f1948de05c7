/** Who a prefix is: a name that no other tenant, model or byte sequence can have. */
import { createHash } from "node:crypto";

/** Shorter leading parts are not worth an entry of their own: every request would share its BOS and role marks. */
export const MIN_PREFIX_TOKENS = 16;

/**
 * 32 hex characters of SHA-256 over length-framed parts, so that ("a", "bc") and ("ab", "c") differ whatever bytes they hold.
 * Nothing is normalised: text that only looks equal gets another id.
 */
export function frameHash(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  const length = Buffer.alloc(8);
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part, "utf8") : part;
    length.writeBigUInt64LE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest("hex").slice(0, 32);
}

/** Id of `tokens` as the leading tokens of a prompt of this tenant for this model. */
export function prefixId(tenant: string, model: string, tokens: Int32Array): string {
  return frameHash(["tokens", tenant, model, new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength)]);
}
