import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { createAdminGuard, createAuthenticate } from "./auth.ts";
import type { CallServices } from "./calls/services.ts";
import { GatewayError } from "./errors.ts";
import type { Lease } from "./key-limits.ts";
import { headerNames } from "./names.ts";
import type { GatewayOptions } from "./options.ts";
import { createRequestIds, type RequestIds } from "./request-ids.ts";

/** Who may use a route: anybody, holders of an API key, or the operator. */
export type Access = "open" | "tenant" | "admin";

/** Largest body of a route that is no inference call, in bytes: a workflow of a thousand stages is a tenth of it. */
export const CONTROL_BODY_BYTES = 1024 * 1024;

declare module "fastify" {
  interface FastifyRequest {
    /** From the key alone; "" where the route asks for none. */
    tenant: string;
    /** What an admitted inference call holds of its key's limits, until a call takes it over; null: nothing. */
    lease: Lease | null;
    /** Our id of this request, unique in the process. */
    ownId: string;
    clientRequestId: string | null;
    /** Set where an error is answered; null: no error. */
    refusalCode: string | null;
  }
  interface FastifyContextConfig {
    access?: Access;
    /** An inference call: refused before its body is read when there is no room for it. */
    isCall?: boolean;
  }
}

export interface RequestGate {
  readonly ids: RequestIds;
  /** The first hook of every request: ids, who it is, and whether its body is worth reading (K46). */
  readonly onRequest: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;
}

export function createRequestGate(options: GatewayOptions, services: CallServices, isDraining: () => boolean): RequestGate {
  const authenticate = createAuthenticate(options.keys);
  const guard = createAdminGuard(options.adminToken);
  const ids = createRequestIds();
  const { scheduler, keyLimiter, clock } = services;
  return {
    ids,
    onRequest(request, reply, done) {
      const { access, isCall } = request.routeOptions.config;
      request.clientRequestId = toClientRequestId(request.headers[headerNames.requestId]);
      let refusal: unknown = null;
      try {
        const caller = access === "tenant" ? authenticate(request.raw) : null;
        if (caller !== null) request.tenant = caller.tenant;
        if (access === "admin") guard(request.raw);
        if (isCall === true) {
          if (isDraining()) throw new GatewayError("shutting_down");
          if (scheduler.engine() === null) throw new GatewayError("engine_unavailable");
          if (scheduler.queueFull) throw new GatewayError("queue_full");
          request.lease = keyLimiter.take(caller?.key ?? "", clock.nowSeconds());
          if (request.lease !== null) reply.raw.once("close", () => request.lease?.giveBack());
        }
      } catch (error) {
        refusal = error;
      }
      request.ownId = ids.next(request.tenant);
      reply.header(headerNames.ownRequestId, request.ownId);
      reply.header(headerNames.requestId, request.clientRequestId ?? request.ownId);
      if (refusal === null) done();
      else done(refusal as Error);
    },
  };
}

/** Echoed only if it is at most 256 visible ASCII characters. */
function toClientRequestId(value: string | string[] | undefined): string | null {
  return typeof value === "string" && /^[\x21-\x7e]{1,256}$/.test(value) ? value : null;
}
