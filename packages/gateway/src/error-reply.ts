import type { ServerResponse } from "node:http";
import { EngineError } from "@topas/engines";
import { GatewayError, isErrorCode } from "./errors.ts";
import { headerNames } from "./names.ts";

/** OpenAI's error body, for every route and every stream. */
export interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: string; readonly param: string | null };
}

/** A failure in the shape the engines report it. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** What a client may be told: status, headers and body of one failure. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

/** Anything thrown, as a refusal. What is not ours becomes a 500 that says nothing of its inside. */
export function toRefusal(error: unknown): Refusal {
  if (GatewayError.isInstance(error)) return fromGatewayError(error);
  if (EngineError.isInstance(error)) return fromReported(error);
  const { statusCode, code } = (typeof error === "object" && error !== null ? error : {}) as {
    statusCode?: unknown;
    code?: unknown;
  };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return fromGatewayError(new GatewayError("payload_too_large"));
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return fromGatewayError(new GatewayError("unsupported_media_type"));
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    const message = error instanceof Error ? error.message : "the request is not valid";
    return { ...fromGatewayError(new GatewayError("invalid_request", { message })), status: statusCode };
  }
  return fromGatewayError(new GatewayError("internal_error"));
}

/** An engine's `CallEnd.error`: our own code keeps its catalogue row, a foreign one keeps its status. */
export function fromReported(error: ReportedError): Refusal {
  if (isErrorCode(error.code)) return fromGatewayError(new GatewayError(error.code, { message: error.message }));
  const status = error.status >= 400 && error.status <= 599 ? error.status : 502;
  const retryable = status === 429 || status === 503;
  const base = fromGatewayError(
    new GatewayError(retryable ? "no_capacity" : status < 500 ? "invalid_request" : "upstream_error"),
  );
  const type = status === 429 ? "rate_limit_error" : base.body.error.type;
  return { ...base, status, code: error.code, body: { error: { message: error.message, type, code: error.code, param: null } } };
}

export function fromGatewayError(error: GatewayError): Refusal {
  const { message, type, code, param } = error;
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== null) headers["retry-after"] = String(error.retryAfterSeconds);
  if (error.droppedReason !== null) {
    headers[headerNames.droppedReason] = error.droppedReason;
    headers[headerNames.droppedReasonLlmd] = error.droppedReason;
  }
  if (error.status === 401) headers["www-authenticate"] = "Bearer";
  return { status: error.status, code, headers, body: { error: { message, type, code, param } } };
}

/** Writes a refusal on a hijacked response whose head is still unsent. */
export function writeRefusal(response: ServerResponse, refusal: Refusal, headers: Readonly<Record<string, string>>): void {
  const body = JSON.stringify(refusal.body);
  response.writeHead(refusal.status, {
    ...headers,
    ...refusal.headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
