import { HEADER_MAX_BYTES, SPEC } from "./names.ts";
import type { ReceiptInput } from "./v1/receipt.ts";

/** A receipt as an application builds it: `spec` and `authority` are written when it is sent. */
export type ReceiptContext = Omit<ReceiptInput, "spec" | "authority"> & Partial<Pick<ReceiptInput, "spec" | "authority">>;

export interface EncodedReceipt {
  /** Value of `x-topas-receipt`. */
  readonly header: string;
  /** Members left out to stay within the limit, in the order in which they went. */
  readonly dropped: readonly string[];
}

/**
 * What is left out first when the header would be too long: large and declarable otherwise (the graph belongs in
 * `PUT /v1/workflows/{id}`), then what a server can learn by itself, last what it cannot. Identity is never left out.
 */
export const DROP_ORDER = [
  "graph",
  "nextAgents",
  "status",
  "readyStages",
  "residency",
  "reloadCost",
  "preemptCost",
  "remainingWork",
] as const satisfies readonly (keyof ReceiptInput)[];

/** Fewest JSON characters of one entry of a list, a stage, an edge. */
const LEAST = { entry: 4, stage: 11, edge: 10 } as const;
const MARK = Symbol.for("topas.ReceiptEncodeError");

/** `too_large`: over the limit even without the optional members. `not_serializable`: no JSON (a cycle of objects, a bigint). */
export class ReceiptEncodeError extends Error {
  readonly code: "too_large" | "not_serializable";

  constructor(code: "too_large" | "not_serializable", message: string) {
    super(message);
    this.name = "ReceiptEncodeError";
    this.code = code;
    Object.defineProperty(this, MARK, { value: true });
  }

  /** True across several copies of this package. */
  static isInstance(value: unknown): value is ReceiptEncodeError {
    return typeof value === "object" && value !== null && MARK in value;
  }
}

/** Value of `x-topas-receipt`; {@link fitReceiptHeader} tells what was left out. Throws {@link ReceiptEncodeError}. */
export function encodeReceiptHeader(receipt: ReceiptContext): string {
  return fitReceiptHeader(receipt).header;
}

/** Header form. Drops optional members in {@link DROP_ORDER} until it fits; throws {@link ReceiptEncodeError} when it cannot. */
export function fitReceiptHeader(receipt: ReceiptContext, maxBytes: number = HEADER_MAX_BYTES): EncodedReceipt {
  const whole: Record<string, unknown> = { ...receipt, spec: SPEC, authority: "none" };
  const dropped: string[] = [];
  for (const name of DROP_ORDER) if (cannotFit(whole[name], maxBytes)) drop(whole, name, dropped);
  for (const name of [null, ...DROP_ORDER]) {
    if (name !== null && !drop(whole, name, dropped)) continue;
    const json = toJson(whole);
    if (json.length > maxBytes) continue;
    const header = base64url(new TextEncoder().encode(json));
    if (header.length <= maxBytes) return { header, dropped };
  }
  throw new ReceiptEncodeError(
    "too_large",
    `the receipt needs more than ${maxBytes} characters even without ${DROP_ORDER.join(", ")}`,
  );
}

function drop(whole: Record<string, unknown>, name: string, dropped: string[]): boolean {
  if (whole[name] === undefined || whole[name] === null) return false;
  delete whole[name];
  dropped.push(name);
  return true;
}

/** True: dropped without being written out first, so that even the largest graph costs a call no milliseconds. */
function cannotFit(part: unknown, maxBytes: number): boolean {
  const jsonBytes = (maxBytes * 3) / 4;
  if (Array.isArray(part)) return part.length * LEAST.entry > jsonBytes;
  if (typeof part !== "object" || part === null || !("stages" in part)) return false;
  const graph = part as { stages?: unknown; edges?: unknown };
  return count(graph.stages) * LEAST.stage + count(graph.edges) * LEAST.edge > jsonBytes;
}

function count(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new ReceiptEncodeError("not_serializable", `the receipt is not JSON: ${String(cause)}`);
  }
}

function base64url(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 4096) binary += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
