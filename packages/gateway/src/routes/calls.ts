import type { FastifyInstance } from "fastify";
import { serveCall, type Endpoint } from "../calls/serve.ts";
import type { CallServices } from "../calls/services.ts";
import { parseChatRequest, parseTextRequest } from "../wire/openai/request.ts";

const ENDPOINTS: readonly Endpoint[] = [
  { path: "/v1/chat/completions", parse: parseChatRequest },
  { path: "/v1/completions", parse: parseTextRequest },
];

/** `POST /v1/chat/completions` and `POST /v1/completions`, streaming or not. */
export function callRoutes(app: FastifyInstance, services: CallServices): void {
  for (const endpoint of ENDPOINTS) {
    app.post(endpoint.path, { config: { access: "tenant", isCall: true } }, (request, reply) =>
      serveCall(services, endpoint, request, reply),
    );
  }
}
