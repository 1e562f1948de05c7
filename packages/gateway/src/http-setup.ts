import type { FastifyInstance } from "fastify";
import { toRefusal } from "./error-reply.ts";
import { GatewayError } from "./errors.ts";

/** Declared once, so that every request object has one shape. */
export function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("tenant", "");
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
