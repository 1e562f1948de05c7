import { encodeReceiptHeader, type ReceiptContext } from "./encode.ts";
import { RECEIPT_HEADER } from "./names.ts";

export type { ReceiptContext } from "./encode.ts";

export interface TopasFetchOptions {
  /** Only calls to addresses that begin with this carry a receipt, so that task and agent names stay with your own gateway. */
  readonly baseURL?: string;
  /** Told once per failure that made a call go out without its receipt. May not throw; if it does, that is ignored too. */
  readonly onError?: (error: unknown) => void;
}

/** The calls that generate: chat completions, completions, responses, messages. Not the thread messages of the Assistants API. */
const CALL = /\/(?:chat\/completions|completions|responses|messages)\/?$/;
const THREADS = /\/threads\/[^/]+\/messages\/?$/;

/**
 * Wraps any `fetch` so that generating calls carry the receipt that `getContext` returns at that moment. Nothing else changes:
 * body, streams, Request objects and abort signals are passed on as they came, and a failure to make the receipt sends the call
 * without one. A receipt that the caller set itself is kept.
 */
export function topasFetch(
  send: typeof fetch,
  getContext: () => ReceiptContext | null | undefined,
  options: TopasFetchOptions = {},
): typeof fetch {
  return (input, init) => send(input, withReceipt(input, init, getContext, options) ?? init);
}

function withReceipt(
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  getContext: () => ReceiptContext | null | undefined,
  options: TopasFetchOptions,
): RequestInit | null {
  try {
    const request = typeof input === "string" || input instanceof URL ? null : input;
    const url = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
    if ((init?.method ?? request?.method ?? "GET").toUpperCase() !== "POST" || !isCall(url)) return null;
    if (options.baseURL !== undefined && !url.startsWith(options.baseURL)) return null;
    if (init && !isPlain(init)) return null;
    const context = getContext();
    if (!context) return null;
    const headers = new Headers(init?.headers ?? request?.headers);
    if (headers.has(RECEIPT_HEADER)) return null;
    headers.set(RECEIPT_HEADER, encodeReceiptHeader(context));
    return { ...init, headers };
  } catch (error) {
    try {
      options.onError?.(error);
    } catch {
      // The caller's own reporting may not cost the call either.
    }
    return null;
  }
}

function isCall(url: string): boolean {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  return CALL.test(path) && !THREADS.test(path);
}

/** An init that is itself a Request keeps its members on the prototype: copying it would lose them. */
function isPlain(init: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(init);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype as object) === null;
}
