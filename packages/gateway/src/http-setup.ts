import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { fromGatewayError, toRefusal } from "./error-reply.ts";
import { GatewayError, type ErrorCode } from "./errors.ts";

/** Declared once, so that every request object has one shape. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("tenant", "");
  app.decorateRequest("lease", null);
  app.decorateRequest("ownId", "");
  app.decorateRequest("clientRequestId", null);
  app.decorateRequest("refusalCode", null);
}

/** JSON bodies stay bytes: a raw engine gets them as they came, and `json.ts` reads them once. Anything else is a 415. */
export function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/(?:[\w.-]+\+)?json\b/, { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
}

/** What is wrong before there is a route: a path that cannot be decoded. */
export function answerFrameworkError(error: Error, _request: FastifyRequest, reply: FastifyReply): void {
  const refusal = toRefusal(error);
  void reply.code(refusal.status).headers(refusal.headers).send(refusal.body);
}

/** What is wrong before there is a request: bytes that are no HTTP. The connection ends with the answer. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = fromGatewayError(new GatewayError(clientErrorCode(error.code)));
  const body = JSON.stringify(refusal.body);
  const head = `HTTP/1.1 ${refusal.status} Refused\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function clientErrorCode(code: string | undefined): ErrorCode {
  if (code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "request_timeout" : "invalid_request";
}

/** Every failure and every unknown route in OpenAI's shape. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const refusal = toRefusal(error);
    request.refusalCode = refusal.code;
    if (refusal.status >= 500 && !GatewayError.isInstance(error))
      request.log.error({ err: error, requestId: request.ownId }, "request failed");
    return reply.code(refusal.status).headers(refusal.headers).send(refusal.body);
  });
  app.setNotFoundHandler((request) => {
    const path = request.url.split("?", 1)[0] ?? "";
    throw new GatewayError("not_found", { message: `unknown route ${request.method} ${path.slice(0, 200)}` });
  });
}
