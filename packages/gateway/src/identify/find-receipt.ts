import {
  BODY_MEMBER,
  RECEIPT_HEADER,
  decodeHeaderJson,
  parseReceipt,
  type ParsedReceipt,
  type Receipt,
  type ReceiptCode,
} from "@topas/receipt";
import { tameId } from "./frame.ts";
import { headerOf, memberOf, type Headers } from "./sources.ts";

export interface FoundReceipt {
  readonly receipt: Receipt | null;
  readonly status: "ok" | "absent" | `ignored:${ReceiptCode}`;
  readonly warnings: readonly string[];
}

/** The first valid receipt of header and body. A refused one costs the call nothing but a warning (invariant o). */
export function findReceipt(headers: Headers, body: unknown): FoundReceipt {
  const header = headerOf(headers, RECEIPT_HEADER);
  const member = memberOf(body, BODY_MEMBER);
  const places = [
    ...(header === null ? [] : [() => fromHeader(header)]),
    ...(member === undefined || member === null ? [] : [() => readReceipt(member)]),
  ];
  const warnings: string[] = [];
  let status: FoundReceipt["status"] = "absent";
  for (const read of places) {
    const { parsed, hashed } = read();
    if (parsed.ok)
      return { receipt: parsed.receipt, status: "ok", warnings: hashed ? [...warnings, "id_hashed: receipt"] : warnings };
    warnings.push(`receipt_ignored: ${parsed.code}: ${parsed.message}`);
    if (status === "absent") status = `ignored:${parsed.code}`;
  }
  return { receipt: null, status, warnings };
}

interface Read {
  readonly parsed: ParsedReceipt;
  readonly hashed: boolean;
}

function fromHeader(header: string): Read {
  const decoded = decodeHeaderJson(header);
  return decoded.ok ? readReceipt(decoded.value) : { parsed: decoded, hashed: false };
}

/** Parses; an id that is too long or not printable is replaced by its hash, everywhere alike, and the receipt is read again. */
export function readReceipt(value: unknown): Read {
  const parsed = parseReceipt(value);
  if (parsed.ok || (parsed.code !== "too_long" && parsed.code !== "unprintable")) return { parsed, hashed: false };
  return { parsed: parseReceipt(tameStrings(value, 0)), hashed: true };
}

/** A receipt has no free text, so every string that is no valid id is a bad id. Deeper than a receipt goes: left as it is. */
function tameStrings(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value === "" ? value : tameId(value).id;
  if (typeof value !== "object" || value === null || depth > 6) return value;
  if (Array.isArray(value)) return value.map((item) => tameStrings(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, tameStrings(item, depth + 1)]));
}
