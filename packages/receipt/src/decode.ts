import { refuse } from "./codes.ts";
import { HEADER_MAX_BYTES } from "./names.ts";
import { parseReceipt, type ParsedReceipt } from "./parse.ts";

/** Header form to JSON, not yet validated. `value` is whatever the sender wrote. */
export function decodeHeaderJson(
  header: string,
): { readonly ok: true; readonly value: unknown } | Extract<ParsedReceipt, { ok: false }> {
  if (header.length > HEADER_MAX_BYTES) {
    return refuse(
      "header_too_large",
      `x-topas-receipt: ${header.length} characters, at most ${HEADER_MAX_BYTES}; declare the workflow once or use the body member`,
    );
  }
  if (!/^[A-Za-z0-9_-]+={0,2}$/.test(header))
    return refuse("header_not_base64url", "x-topas-receipt: send base64url of the JSON text, once");
  try {
    const binary = atob(header.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return { ok: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown };
  } catch (error) {
    const base64 = error instanceof Error && error.name === "InvalidCharacterError";
    return base64
      ? refuse("header_not_base64url", "x-topas-receipt: send base64url of the JSON text, once")
      : refuse("header_not_json", "x-topas-receipt: send base64url of UTF-8 JSON");
  }
}

/** Header form to a validated receipt. Never throws. */
export function decodeReceiptHeader(header: string): ParsedReceipt {
  const decoded = decodeHeaderJson(header);
  return decoded.ok ? parseReceipt(decoded.value) : decoded;
}
