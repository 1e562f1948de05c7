import type { FastifyInstance } from "fastify";

/** `GET /v1/models`. `createdUnixSeconds`: when this gateway started; a model has no better date. */
export function modelRoutes(app: FastifyInstance, models: readonly string[], createdUnixSeconds: number): void {
  const data = models.map((id) => ({ id, object: "model", created: createdUnixSeconds, owned_by: "topas" }));
  app.get("/v1/models", { config: { access: "tenant" } }, () => ({ object: "list", data }));
}
