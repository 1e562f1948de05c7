/** A small OpenAI-compatible upstream on node:http for tests: it records what arrives and answers as told. */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly response: ServerResponse;
  /** Resolves when the connection of this request is gone or the response is out. */
  readonly closed: Promise<"finished" | "aborted">;
}

export interface Upstream {
  readonly url: string;
  readonly received: Received[];
  /** Resolves with the n-th POST (from 0). */
  post(n: number): Promise<Received>;
  close(): Promise<void>;
}

/** `answer` handles POSTs; GETs get a list of one model. */
export async function startUpstream(answer: (request: Received) => void | Promise<void>): Promise<Upstream> {
  const received: Received[] = [];
  const waiting = new Map<number, (request: Received) => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const closed = new Promise<"finished" | "aborted">((resolve) => {
        response.on("close", () => resolve(response.writableFinished ? "finished" : "aborted"));
      });
      const { method = "", url: path = "", headers } = request;
      const one: Received = { method, path, headers, body: Buffer.concat(parts), response, closed };
      if (method !== "POST") {
        response.setHeader("content-type", "application/json").end('{"object":"list","data":[{"id":"fixture-model"}]}');
        return;
      }
      received.push(one);
      waiting.get(received.length - 1)?.(one);
      void answer(one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    post: (n) => {
      const there = received[n];
      return there === undefined ? new Promise((resolve) => waiting.set(n, resolve)) : Promise.resolve(there);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A streamed chat answer: `tokens` deltas, then a usage chunk (unless null), then the terminator. */
export function sseAnswer(tokens: number, usage: Record<string, unknown> | null, reason = "stop"): string[] {
  const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
  const deltas = Array.from({ length: tokens }, (_, n) =>
    event({
      choices: [{ index: 0, delta: { content: ` é${n}` }, finish_reason: n === tokens - 1 ? reason : null }],
      usage: null,
    }),
  );
  return [...deltas, ...(usage === null ? [] : [event({ choices: [], usage })]), "data: [DONE]\n\n"];
}
