import type { PolicyChanges } from "@topas/core";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { checkOptions } from "../config/live.ts";
import { policyOptionsSchema } from "../config/policy-options.ts";
import { toInvalidRequest } from "../invalid.ts";
import { parseJsonObject } from "../json.ts";
import { CONTROL_BODY_BYTES } from "../request-context.ts";
import type { Scheduler } from "../scheduler.ts";

const schema = z.strictObject({ policy: z.string().min(1).max(128), options: policyOptionsSchema.optional() });

/** `GET` and `POST /admin/policy {policy, options?}`: the switch, roll-back included, while calls wait and run (K09). */
export function policyRoutes(app: FastifyInstance, scheduler: Scheduler): void {
  const config = { access: "admin" } as const;
  app.get("/admin/policy", { config }, () => ({ policy: scheduler.policyId, fallback: scheduler.fallback }));
  app.post("/admin/policy", { bodyLimit: CONTROL_BODY_BYTES, config }, (request) => {
    const parsed = schema.safeParse(parseJsonObject(request.body));
    if (!parsed.success) throw toInvalidRequest(parsed.error);
    const { policy } = parsed.data;
    const options = parsed.data.options as PolicyChanges | undefined;
    if (options !== undefined) checkOptions({ policy, policyOptions: options });
    const before = scheduler.policyId;
    scheduler.setPolicy(policy, options);
    return { policy, before };
  });
}
