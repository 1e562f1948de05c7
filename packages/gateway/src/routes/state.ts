import type { FastifyInstance } from "fastify";
import type { Scheduler } from "../scheduler.ts";

/** `GET /v1/state`: queue, running calls, residents, last decision. It shows every tenant's work, so it is the operator's. */
export function stateRoutes(app: FastifyInstance, scheduler: Scheduler): void {
  app.get("/v1/state", { config: { access: "admin" } }, () => scheduler.snapshot());
}
