import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { CallUsage } from "@topas/engines";
import type { GatewayOptions, Identify } from "../options.ts";
import type { ScheduledCall } from "../scheduler.ts";
import { buildGateway } from "../server.ts";
import { FakeScheduler } from "./fake-scheduler.ts";

export interface Rig {
  readonly app: FastifyInstance;
  readonly scheduler: FakeScheduler;
  /** Listening address; "" before `listen`. */
  readonly url: string;
  readonly port: number;
}

/** Identity as the simplest client has it: a call is a task of its own, unless `x-task` names one. */
const identify: Identify = ({ tenant, requestId, headers, prefixId }) => ({
  identity: {
    tenant,
    task: typeof headers["x-task"] === "string" ? `${tenant}/${headers["x-task"]}` : requestId,
    taskIsCall: headers["x-task"] === undefined,
    workflow: null,
    stage: "*",
    agent: prefixId ?? "*",
    session: null,
    ageSeconds: 0,
    graph: null,
    hints: null,
    final: false,
    source: "inferred",
  },
  receiptStatus: headers["x-topas-receipt"] === undefined ? "absent" : "ignored:bad_json",
  warnings: headers["x-topas-receipt"] === undefined ? [] : ["receipt_ignored: it is no JSON — sorry"],
});

export async function createRig(options: Partial<GatewayOptions> = {}, listens = false): Promise<Rig> {
  const scheduler = new FakeScheduler();
  const app = buildGateway({
    scheduler,
    prepare: async (input) => {
      const bytes = input.kind === "text" ? String(input.prompt) : JSON.stringify(input.messages);
      return { tokens: null, promptTokens: Math.ceil(bytes.length / 4), exact: false, prefix: null };
    },
    models: ["made-1"],
    identify,
    ...options,
    limits: { drainSeconds: 0.05, ...options.limits },
  });
  const url = listens ? await app.listen({ host: "127.0.0.1", port: 0 }) : "";
  return { app, scheduler, url, port: listens ? (app.server.address() as AddressInfo).port : 0 };
}

export const usage = (given: Partial<CallUsage> = {}): CallUsage => ({
  promptTokens: 9,
  cachedTokens: null,
  completionTokens: null,
  computedTokens: null,
  redoneTokens: null,
  retainedTokens: 0,
  ...given,
});

/** A `run` that answers with these pieces at once. */
export const answer =
  (pieces: readonly (string | Uint8Array)[], given: Partial<CallUsage> = {}) =>
  (call: ScheduledCall): void => {
    for (const [index, piece] of pieces.entries())
      call.sink.token?.(index, typeof piece === "string" ? Buffer.from(piece) : piece);
    call.sink.end({ reason: "stop", usage: usage(given) });
  };

export const chat = (extra: object = {}): object => ({ model: "made-1", messages: [{ role: "user", content: "hi" }], ...extra });

/** Waits in 2 ms steps; throws after `limitMs`. */
export async function until(condition: () => boolean, limitMs = 2000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${String(condition)}`);
    await sleep(2);
  }
}

/** A bare socket that has sent `POST path` with this JSON; what comes back collects in `text()`. */
export function rawPost(
  port: number,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): { socket: Socket; text: () => string } {
  const json = JSON.stringify(body);
  const extra = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (chunk) => (received += chunk.toString("latin1")));
  socket.on("error", () => {});
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n${extra.join("")}\r\n${json}`,
  );
  return { socket, text: () => received };
}
