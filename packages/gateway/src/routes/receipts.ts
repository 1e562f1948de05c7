import type { FastifyInstance } from "fastify";
import { GatewayError } from "../errors.ts";
import { parseJsonObject } from "../json.ts";
import type { Clock } from "../clock.ts";
import type { ParseReceipt } from "../options.ts";
import { CONTROL_BODY_BYTES } from "../request-context.ts";
import type { Scheduler } from "../scheduler.ts";

export interface ReceiptRouteOptions {
  readonly scheduler: Scheduler;
  readonly parseReceipt: ParseReceipt | undefined;
  readonly clock: Clock;
}

/** `POST /v1/receipts`: a receipt outside a call, e.g. a stage that started or ended in a tool. */
export function receiptRoutes(app: FastifyInstance, { scheduler, parseReceipt, clock }: ReceiptRouteOptions): void {
  app.post("/v1/receipts", { bodyLimit: CONTROL_BODY_BYTES, config: { access: "tenant" } }, (request, reply) => {
    if (parseReceipt === undefined) throw new GatewayError("not_found", { message: "this gateway takes no receipts" });
    const body = parseJsonObject(request.body);
    scheduler.receipt(parseReceipt({ tenant: request.tenant, body, nowSeconds: clock.nowSeconds(), nowMs: clock.unixMs() }));
    return reply.code(202).send({ status: "ok" });
  });
}
