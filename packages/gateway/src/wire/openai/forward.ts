import type { IncomingHttpHeaders } from "node:http";
import { headerNames } from "../../names.ts";

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const NOT_UPSTREAM = new Set([
  ...HOP_BY_HOP,
  "host",
  "content-length",
  "expect",
  "accept-encoding",
  "cookie",
  headerNames.requestId,
]);
const NOT_DOWNSTREAM = new Set([...HOP_BY_HOP, "date", "server", "set-cookie", headerNames.requestId]);

/**
 * Request headers for a raw upstream. Ours (`x-topas-*`) stay here, the upstream gets our id, and a key that opened this gateway
 * never travels on.
 */
export function toUpstreamHeaders(
  headers: IncomingHttpHeaders,
  requestId: string,
  keepAuthorization: boolean,
): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || NOT_UPSTREAM.has(name) || name.startsWith("x-topas-")) continue;
    if (!keepAuthorization && (name === "authorization" || name === "x-api-key")) continue;
    out[name] = typeof value === "string" ? value : value.join(", ");
  }
  out[headerNames.requestId] = requestId;
  return out;
}

/** Response headers of a raw upstream, ours on top. */
export function toClientHeaders(
  upstream: Readonly<Record<string, string | string[] | undefined>>,
  own: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const name in upstream) {
    const value = upstream[name];
    const key = name.toLowerCase();
    if (value !== undefined && !NOT_DOWNSTREAM.has(key)) out[key] = value;
  }
  return Object.assign(out, own);
}
