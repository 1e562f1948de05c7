import type { FastifyInstance } from "fastify";
import { GatewayError } from "../errors.ts";
import { parseJsonObject } from "../json.ts";
import type { ParseWorkflow } from "../options.ts";
import { CONTROL_BODY_BYTES } from "../request-context.ts";
import type { Scheduler } from "../scheduler.ts";

/** `PUT /v1/workflows/:id`: a declared graph, refused with 422 when it is no graph (K66). */
export function workflowRoutes(app: FastifyInstance, scheduler: Scheduler, parseWorkflow: ParseWorkflow | undefined): void {
  app.put<{ Params: { id: string } }>(
    "/v1/workflows/:id",
    { bodyLimit: CONTROL_BODY_BYTES, config: { access: "tenant" } },
    (request) => {
      if (parseWorkflow === undefined)
        throw new GatewayError("not_found", { message: "this gateway takes no workflow declarations" });
      const { id } = request.params;
      const graph = parseWorkflow(id, parseJsonObject(request.body));
      scheduler.declareWorkflow(request.tenant, id, graph);
      return { id, stages: graph.stages.length, edges: graph.edges.length };
    },
  );
}
