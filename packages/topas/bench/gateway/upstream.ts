/** A bare scripted upstream: `max_tokens` chunks with a turn of the event loop between, or one JSON answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveSubject } from "./process.ts";

const chunk = Buffer.from(
  `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}\n\n`,
);
const answer = Buffer.from(
  `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`,
);
/** Wall-clock milliseconds at which a socket was closed before its answer was complete. */
let closedAt: number[] = [];

const server = createServer((request, response) => {
  if (request.method !== "POST") {
    response.writeHead(404).end();
    return;
  }
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as { stream?: boolean; max_tokens: number; user?: string };
    response.on("close", () => {
      if (!response.writableFinished) closedAt.push(Date.now());
    });
    if (body.user === "hang") {
      if (body.stream === true) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(chunk);
      }
      return;
    }
    if (body.stream !== true) {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let left = body.max_tokens;
    const send = (): void => {
      if (response.destroyed) return;
      if (left-- > 0) {
        response.write(chunk);
        setImmediate(send);
      } else response.end("data: [DONE]\n\n");
    };
    send();
  });
});
server.listen(0, "127.0.0.1", () =>
  serveSubject((server.address() as AddressInfo).port, {
    closed: () => {
      const seen = closedAt;
      closedAt = [];
      return seen;
    },
  }),
);
