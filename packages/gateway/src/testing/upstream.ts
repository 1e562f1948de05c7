import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface UpstreamCall {
  readonly body: Buffer;
  readonly headers: IncomingMessage["headers"];
  readonly response: ServerResponse;
  /** Bytes handed to the socket so far. */
  taken: number;
  aborted: boolean;
}

export interface Upstream {
  readonly url: string;
  readonly calls: UpstreamCall[];
  /** What the next calls do; default: hold. */
  answer: (call: UpstreamCall) => void;
  close(): Promise<void>;
}

/** A scripted OpenAI-compatible upstream: records what it is sent and sees when a call is aborted. */
export async function createUpstream(): Promise<Upstream> {
  const calls: UpstreamCall[] = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json").end('{"data":[{"id":"up-1"}]}');
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const call: UpstreamCall = { body: Buffer.concat(chunks), headers: request.headers, response, taken: 0, aborted: false };
      response.on("close", () => {
        call.aborted = !response.writableFinished;
      });
      calls.push(call);
      upstream.answer(call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream: Upstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    answer: () => {},
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
}
