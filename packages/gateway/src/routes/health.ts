import type { FastifyInstance } from "fastify";
import type { Scheduler } from "../scheduler.ts";

/** `/health`: the process lives; `degraded` says that the policy asked for failed and passthrough took over. `/ready`: it can take a call and make progress (K21). */
export function healthRoutes(app: FastifyInstance, scheduler: Scheduler, isDraining: () => boolean): void {
  app.get("/health", { config: { access: "open" } }, () => {
    const { fallback, policyId } = scheduler;
    if (fallback === null) return { status: "ok" };
    return { status: "degraded", reason: "policy_fallback", policy: policyId, from: fallback.from, because: fallback.reason };
  });
  app.get("/ready", { config: { access: "open" } }, (_request, reply) => {
    const reason = notReady(scheduler, isDraining());
    return reply.code(reason === null ? 200 : 503).send(reason === null ? { status: "ready" } : { status: "not_ready", reason });
  });
}

/** null: ready. */
function notReady(scheduler: Scheduler, draining: boolean): string | null {
  if (draining) return "shutting_down";
  const { ready, reason } = scheduler.health();
  return ready ? null : (reason ?? "no_progress");
}
