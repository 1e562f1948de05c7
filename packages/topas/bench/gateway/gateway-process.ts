/** The subject: our gateway in front of an OpenAI-compatible upstream, scheduling on. Usage: gateway-process.ts UPSTREAM POLICY */
import { OpenAiEngine } from "@topas/engines";
import { startGateway } from "@topas/gateway";
import { serveSubject } from "./process.ts";

const gateway = await startGateway({
  engine: new OpenAiEngine({ baseUrl: process.argv[2] ?? "" }),
  policy: process.argv[3] ?? "topas",
  host: "127.0.0.1",
  port: 0,
  keys: new Map(),
  logLevel: "silent",
});
serveSubject(Number(new URL(gateway.url).port));
