/** The peer: the least that fastify and undici need to forward a call, no scheduling. Usage: plain-proxy.ts UPSTREAM */
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { Pool } from "undici";
import { serveSubject } from "./process.ts";

const pool = new Pool(process.argv[2] ?? "", { connections: 256 });
const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
app.post("/v1/chat/completions", async (request, reply) => {
  const controller = new AbortController();
  reply.raw.on("close", () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  reply.hijack();
  try {
    await pool.stream(
      {
        path: request.url,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: request.body as Buffer,
        signal: controller.signal,
      },
      ({ statusCode, headers }) => {
        reply.raw.writeHead(statusCode, headers as Record<string, string>);
        return reply.raw;
      },
    );
  } catch {
    reply.raw.destroy();
  }
});
await app.listen({ host: "127.0.0.1", port: 0 });
serveSubject((app.server.address() as AddressInfo).port);
