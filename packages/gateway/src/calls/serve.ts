import { randomInt } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { EngineSink, Sampling } from "@topas/engines";
import { GatewayError } from "../errors.ts";
import { parseJsonObject } from "../json.ts";
import { headerNames } from "../names.ts";
import { toUpstreamHeaders } from "../wire/openai/forward.ts";
import type { CallRequest, RequestedSampling } from "../wire/openai/request.ts";
import type { AnswerHead } from "../wire/openai/response.ts";
import { stripOwnMembers } from "../wire/openai/strip.ts";
import { LiveCall } from "./live-call.ts";
import { createRawSink } from "./raw-sink.ts";
import type { CallServices } from "./services.ts";
import { createTokenJsonSink } from "./token-json.ts";
import { createTokenStreamSink } from "./token-stream.ts";

export interface Endpoint {
  readonly path: string;
  readonly parse: (body: Record<string, unknown>, tenant: string) => CallRequest;
}

/** One inference call, from its bytes to the scheduler. Refusals before the hijack are thrown, later ones are the call's answer. */
export async function serveCall(
  services: CallServices,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { clock } = services;
  const { tenant, ownId, clientRequestId } = request;
  const bytes = request.body;
  const body = parseJsonObject(bytes);
  const asked = endpoint.parse(body, tenant);
  const engine = services.scheduler.engine();
  if (engine === null) throw new GatewayError("engine_unavailable");
  const isRaw = engine.wire === "raw";
  if (asked.logprobs && !isRaw)
    throw new GatewayError("invalid_request", { message: "logprobs are not supported by this engine", param: "logprobs" });
  services.live.checkClientId(tenant, clientRequestId);

  reply.hijack();
  const { lease } = request;
  request.lease = null;
  const headers = { [headerNames.ownRequestId]: ownId, [headerNames.requestId]: clientRequestId ?? ownId };
  const call = new LiveCall(services, {
    id: ownId,
    tenant,
    route: endpoint.path,
    stream: asked.stream,
    response: reply.raw,
    headers,
    clientRequestId,
    lease,
  });
  try {
    const prompt = await services.prepare(asked.prompt);
    if (call.settled) return;
    const nowMs = clock.unixMs();
    const found = services.identify({
      tenant,
      requestId: ownId,
      headers: request.headers,
      body,
      prefixId: prompt.prefix?.id ?? null,
      nowSeconds: clock.nowSeconds(),
      nowMs,
    });
    call.spec.headers[headerNames.receiptStatus] = printable(found.receiptStatus);
    if (found.warnings.length > 0) call.spec.headers[headerNames.receiptWarning] = printable(found.warnings.join("; "));
    const head: AnswerHead = {
      kind: asked.kind,
      id: `${asked.kind === "chat" ? "chatcmpl" : "cmpl"}-${ownId}`,
      created: Math.floor(nowMs / 1000),
      model: services.models[0] ?? engine.model,
    };
    call.enqueue(
      {
        identity: found.identity,
        prompt,
        maxTokens: asked.maxTokens ?? services.limits.maxTokensDefault,
        sampling: toSampling(asked.sampling),
        stop: asked.stop,
        http: isRaw
          ? {
              path: endpoint.path,
              headers: toUpstreamHeaders(request.headers, ownId, services.keepAuthorization),
              body: stripOwnMembers(bytes as Uint8Array, body),
            }
          : null,
      },
      isRaw ? createRawSink(call) : createTokenSink(services, call, asked, head, prompt.promptTokens),
    );
  } catch (error) {
    call.refuse(error);
  }
}

function createTokenSink(
  services: CallServices,
  call: LiveCall,
  asked: CallRequest,
  head: AnswerHead,
  promptTokens: number,
): EngineSink {
  if (!asked.stream) return createTokenJsonSink(call, head, promptTokens);
  return createTokenStreamSink(call, head, {
    includeUsage: asked.includeUsage,
    promptTokens,
    bufferBytes: services.limits.streamBufferBytes,
  });
}

/** Engines take a seed of 32 bits and refuse the last one. */
function toSampling(asked: RequestedSampling): Sampling {
  const last = 0xffffffff;
  const seed = asked.seed === null ? randomInt(last) : Number(BigInt.asUintN(32, BigInt(asked.seed)));
  return { ...asked, seed: seed === last ? last - 1 : seed };
}

/** Header-safe: visible ASCII and spaces, 200 characters. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}
