import { fastify, LogController, type FastifyInstance } from "fastify";
import { LiveCalls } from "./calls/live-calls.ts";
import type { CallServices } from "./calls/services.ts";
import { systemClock } from "./clock.ts";
import { answerClientError, answerErrors, answerFrameworkError, decorateRequests, takeBytes } from "./http-setup.ts";
import { callRecord, logCall, loggerOptions, plainRecord } from "./observe.ts";
import { createKeyLimiter } from "./key-limits.ts";
import { defaultLimits, type GatewayOptions } from "./options.ts";
import { createRequestGate } from "./request-context.ts";
import { callRoutes } from "./routes/calls.ts";
import { explainRoutes } from "./routes/explain.ts";
import { healthRoutes } from "./routes/health.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { modelRoutes } from "./routes/models.ts";
import { policyRoutes } from "./routes/policy.ts";
import { receiptRoutes } from "./routes/receipts.ts";
import { reloadRoutes } from "./routes/reload.ts";
import { stateRoutes } from "./routes/state.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { workflowRoutes } from "./routes/workflows.ts";
import { createTelemetry } from "./telemetry.ts";

/**
 * The HTTP side, ready for `listen` or `inject`. It owns neither scheduler nor engine: whoever made them closes them, after
 * `close()` has drained the open calls (`limits.drainSeconds`) and cut the rest.
 */
export function buildGateway(options: GatewayOptions): FastifyInstance {
  const { scheduler } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const clock = options.clock ?? systemClock;
  const live = new LiveCalls(limits.duplicateRequestIds === "refuse");
  const keyLimiter = options.keyLimiter ?? createKeyLimiter();
  const telemetry = createTelemetry(scheduler, keyLimiter, () => live.calls.size);
  let draining = false;
  const isDraining = (): boolean => draining;

  const app: FastifyInstance = fastify({
    logger: loggerOptions(options.log),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    requestTimeout: 60_000,
    keepAliveTimeout: 72_000,
    // A client that left a hijacked stream makes a plain close hang: drained calls first, then every socket.
    forceCloseConnections: true,
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerClientError,
  });
  const services: CallServices = {
    scheduler,
    prepare: options.prepare,
    identify: options.identify,
    models: options.models,
    limits,
    clock,
    live,
    keyLimiter,
    keepAuthorization: options.keys === undefined || options.keys.size === 0,
    failed: (error, call) => app.log.error({ err: error, requestId: call.spec.id, route: call.spec.route }, "call failed inside"),
    settled: (call, status, code, usage) => {
      telemetry.record(callRecord(call, status, code, usage?.completionTokens ?? null));
      logCall(app.log, call, status, code);
    },
  };
  const gate = createRequestGate(options, services, isDraining);

  decorateRequests(app);
  app.addHook("onRequest", gate.onRequest);
  app.addHook("onSend", (request, reply, _payload, done) => {
    telemetry.record(plainRecord(request.routeOptions.url, reply.statusCode, request.refusalCode));
    done();
  });
  takeBytes(app);
  answerErrors(app);

  callRoutes(app, services);
  modelRoutes(app, options.models, Math.floor(clock.unixMs() / 1000));
  workflowRoutes(app, scheduler, options.parseWorkflow);
  receiptRoutes(app, { scheduler, parseReceipt: options.parseReceipt, clock });
  taskRoutes(app, scheduler);
  explainRoutes(app, scheduler, gate.ids);
  stateRoutes(app, scheduler);
  healthRoutes(app, scheduler, isDraining);
  metricsRoutes(app, telemetry);
  policyRoutes(app, scheduler);
  reloadRoutes(app, options.reload);

  app.addHook("preClose", async () => {
    draining = true;
    await live.drain(limits.drainSeconds);
  });
  return app;
}
