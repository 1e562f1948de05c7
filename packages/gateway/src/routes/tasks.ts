import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { toInvalidRequest } from "../invalid.ts";
import { parseJsonObject } from "../json.ts";
import { CONTROL_BODY_BYTES } from "../request-context.ts";
import type { Scheduler } from "../scheduler.ts";

const schema = z.object({ outcome: z.enum(["done", "cancelled"]).default("done") });

/** `POST /v1/tasks/:id/finish {outcome?: "done" | "cancelled"}`. Cancelling an unknown task still refuses its later calls (K40). */
export function taskRoutes(app: FastifyInstance, scheduler: Scheduler): void {
  app.post<{ Params: { id: string } }>(
    "/v1/tasks/:id/finish",
    { bodyLimit: CONTROL_BODY_BYTES, config: { access: "tenant" } },
    (request) => {
      const isEmpty = !(request.body instanceof Uint8Array) || request.body.byteLength === 0;
      const parsed = schema.safeParse(isEmpty ? {} : parseJsonObject(request.body));
      if (!parsed.success) throw toInvalidRequest(parsed.error);
      const { id } = request.params;
      const { outcome } = parsed.data;
      return { id, outcome, known: scheduler.finishTask(request.tenant, id, outcome) };
    },
  );
}
