import type { FastifyBaseLogger } from "fastify";
import type { LiveCall } from "./calls/live-call.ts";
import type { GatewayOptions } from "./options.ts";
import type { RequestRecord } from "./telemetry.ts";

const SECRET_HEADERS = ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"];

/** pino's options. Headers are never logged by us; should anybody log a request, its secrets are cut out. */
export function loggerOptions(log: GatewayOptions["log"]) {
  if (log === undefined || log === false) return false;
  const paths = SECRET_HEADERS.flatMap((name) => [`["${name}"]`, `headers["${name}"]`, `*.headers["${name}"]`]);
  return { level: log.level, redact: paths, ...(log.stream === undefined ? {} : { stream: log.stream }) };
}

/** A call at its terminal event. */
export function callRecord(call: LiveCall, status: number, code: string | null, completionTokens: number | null): RequestRecord {
  const { arrivedSeconds, admittedSeconds, firstByteSeconds, lastByteSeconds } = call;
  const gaps = completionTokens === null ? 0 : completionTokens - 1;
  return {
    route: call.spec.route,
    status,
    code,
    durationSeconds: call.now() - arrivedSeconds,
    queueSeconds: admittedSeconds === null ? null : admittedSeconds - arrivedSeconds,
    firstTokenSeconds: firstByteSeconds === null ? null : firstByteSeconds - arrivedSeconds,
    perTokenSeconds:
      firstByteSeconds === null || !call.spec.stream || gaps < 1 ? null : (lastByteSeconds - firstByteSeconds) / gaps,
  };
}

/** Any other request, when its answer is sent. */
export function plainRecord(route: string | undefined, status: number, code: string | null): RequestRecord {
  const none = { durationSeconds: null, queueSeconds: null, firstTokenSeconds: null, perTokenSeconds: null };
  return { route: route ?? "unmatched", status, code, ...none };
}

/** One line a call at most: failures at warn, a client that left at info (499), everything else at debug. */
export function logCall(log: FastifyBaseLogger, call: LiveCall, status: number, code: string | null): void {
  const level = status >= 500 && status !== 503 ? "warn" : status === 499 ? "info" : "debug";
  const { id, tenant, route } = call.spec;
  const fields = { requestId: id, tenant, route, status, code, seconds: call.now() - call.arrivedSeconds };
  log[level](fields, status === 499 ? "client left" : "call ended");
}
