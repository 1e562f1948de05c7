import type { FastifyInstance } from "fastify";
import { GatewayError } from "../errors.ts";
import type { RequestIds } from "../request-ids.ts";
import type { Scheduler } from "../scheduler.ts";

/** `GET /v1/explain/:requestId`: why a call waited. A tenant sees its own calls and learns nothing of others, not even that they exist. */
export function explainRoutes(app: FastifyInstance, scheduler: Scheduler, ids: RequestIds): void {
  app.get<{ Params: { requestId: string } }>("/v1/explain/:requestId", { config: { access: "tenant" } }, (request) => {
    // An answer's own id names its call as well.
    const requestId = request.params.requestId.replace(/^(?:chatcmpl|cmpl)-/, "");
    const found = ids.belongs(requestId, request.tenant) ? scheduler.explain(requestId) : null;
    if (found === null) {
      throw new GatewayError("not_found", {
        message: "no such call among the last ones: use the x-topas-request-id of its answer",
        param: "requestId",
      });
    }
    return found;
  });
}
