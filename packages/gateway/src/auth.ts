import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "./errors.ts";

export interface Caller {
  readonly tenant: string;
  /** Stands for the key in this process; says nothing about it. Without keys, everybody's is one. */
  readonly key: string;
}

/** Throws a GatewayError 401 `invalid_api_key`. */
export type Authenticate = (request: IncomingMessage) => Caller;

/** Throws a GatewayError 401 or 403. */
export type Guard = (request: IncomingMessage) => void;

/**
 * Bearer keys. Presented and known keys meet only as keyed digests under a secret of this process, so neither the table look-up
 * nor the comparison says anything about a key.
 */
export function createAuthenticate(keys: ReadonlyMap<string, string> | undefined): Authenticate {
  if (keys === undefined || keys.size === 0) return () => ({ tenant: "default", key: "" });
  const secret = randomBytes(32);
  const table = new Map<string, { readonly digest: Buffer; readonly caller: Caller }>();
  for (const [key, tenant] of keys) {
    const digest = keyed(secret, key);
    const text = digest.toString("latin1");
    table.set(text, { digest, caller: { tenant, key: text } });
  }
  return (request) => {
    const token = bearer(request);
    if (token === null) throw new GatewayError("invalid_api_key");
    const digest = keyed(secret, token);
    const row = table.get(digest.toString("latin1"));
    if (row === undefined || !timingSafeEqual(row.digest, digest)) throw new GatewayError("invalid_api_key");
    return row.caller;
  };
}

/** Admin routes: the admin token where one is set, else loopback and nothing that came through a proxy. */
export function createAdminGuard(adminToken: string | undefined): Guard {
  if (adminToken === undefined) {
    return (request) => {
      if (!isLoopback(request.socket.remoteAddress) || isProxied(request)) throw new GatewayError("forbidden");
    };
  }
  const secret = randomBytes(32);
  const known = keyed(secret, adminToken);
  return (request) => {
    const token = bearer(request);
    if (token === null || !timingSafeEqual(known, keyed(secret, token))) {
      throw new GatewayError("invalid_api_key", {
        message: "missing or wrong admin token: send Authorization: Bearer <admin token>",
      });
    }
  };
}

function keyed(secret: Buffer, text: string): Buffer {
  return createHmac("sha256", secret).update(text).digest();
}

/** `Authorization: Bearer <key>`, or Anthropic's `x-api-key`. */
function bearer(request: IncomingMessage): string | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
  const plain = request.headers["x-api-key"];
  return typeof plain === "string" && plain !== "" ? plain : null;
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address);
}

function isProxied(request: IncomingMessage): boolean {
  return request.headers["x-forwarded-for"] !== undefined || request.headers.forwarded !== undefined;
}
