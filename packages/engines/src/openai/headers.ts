/** Which headers cross the gateway, in either direction. */
import type { IncomingHttpHeaders } from "node:http";

/** Of one connection only (RFC 9110, 7.6.1), or derived from a message we frame ourselves. */
const HOP = new Set([
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
/** `accept-encoding` stays here too: an identity-coded answer can be searched for its usage. */
const REQUEST_ONLY = new Set(["host", "content-length", "expect", "accept-encoding"]);
const CREDENTIALS = new Set(["authorization", "x-api-key", "api-key", "cookie"]);

export interface Credentials {
  readonly apiKey: string | null;
  readonly forwardAuthorization: boolean;
}

/** Headers for the upstream. The client's own credentials stay here unless forwarding is on; `apiKey` is used when none are sent. */
export function requestHeaders(given: Readonly<Record<string, string>>, credentials: Credentials): Record<string, string> {
  const named = connectionNames(given["connection"] ?? given["Connection"]);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (HOP.has(lower) || REQUEST_ONLY.has(lower) || named.has(lower)) continue;
    if (CREDENTIALS.has(lower) && !credentials.forwardAuthorization) continue;
    headers[lower] = value;
  }
  const sent = headers["authorization"] !== undefined || headers["x-api-key"] !== undefined || headers["api-key"] !== undefined;
  if (!sent && credentials.apiKey !== null) headers["authorization"] = `Bearer ${credentials.apiKey}`;
  return headers;
}

export function responseHeaders(given: IncomingHttpHeaders): Record<string, string | string[] | undefined> {
  const named = connectionNames(given.connection);
  const headers: Record<string, string | string[] | undefined> = {};
  for (const name of Object.keys(given)) if (!HOP.has(name) && !named.has(name)) headers[name] = given[name];
  return headers;
}

function connectionNames(value: string | string[] | undefined): ReadonlySet<string> {
  if (value === undefined) return new Set();
  return new Set(
    String(value)
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
}
