import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { toInvalidRequest } from "../invalid.ts";
import { parseJsonObject } from "../json.ts";
import { CONTROL_BODY_BYTES } from "../request-context.ts";
import type { Scheduler } from "../scheduler.ts";

const schema = z.object({ policy: z.string().min(1).max(128) });

/** `GET` and `POST /admin/policy {policy}`: the switch, roll-back included, while calls wait and run (K09). */
export function policyRoutes(app: FastifyInstance, scheduler: Scheduler): void {
  const config = { access: "admin" } as const;
  app.get("/admin/policy", { config }, () => ({ policy: scheduler.policyId }));
  app.post("/admin/policy", { bodyLimit: CONTROL_BODY_BYTES, config }, (request) => {
    const parsed = schema.safeParse(parseJsonObject(request.body));
    if (!parsed.success) throw toInvalidRequest(parsed.error);
    const before = scheduler.policyId;
    scheduler.setPolicy(parsed.data.policy);
    request.log.info({ before, policy: parsed.data.policy }, "policy switched");
    return { policy: parsed.data.policy, before };
  });
}
