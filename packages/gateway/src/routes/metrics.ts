import type { FastifyInstance } from "fastify";
import type { Telemetry } from "../telemetry.ts";

/** `GET /metrics`, Prometheus text. No task, tenant or other client-chosen text is ever a label (K74). */
export function metricsRoutes(app: FastifyInstance, telemetry: Telemetry): void {
  app.get("/metrics", { config: { access: "open" } }, async (_request, reply) =>
    reply.type(telemetry.contentType).send(await telemetry.text()),
  );
}
