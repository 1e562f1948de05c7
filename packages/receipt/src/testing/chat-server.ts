import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeReceiptHeader } from "../decode.ts";
import { parseReceipt } from "../parse.ts";
import type { Receipt } from "../v1/receipt.ts";

export interface SeenCall {
  readonly path: string;
  /** null: none, or not valid. */
  readonly receipt: Receipt | null;
  readonly body: {
    readonly stream?: boolean;
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  };
}

export interface ToolCall {
  readonly name: string;
  readonly args: object;
}

export interface ChatServer {
  readonly baseURL: string;
  readonly seen: SeenCall[];
  close(): void;
}

/** A loopback endpoint that notes what each call carried and answers with text, or with the tool calls that `script` names. */
export async function chatServer(script: (call: SeenCall) => readonly ToolCall[] = () => []): Promise<ChatServer> {
  const seen: SeenCall[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as SeenCall["body"];
      const header = request.headers["x-topas-receipt"];
      const path = request.url ?? "";
      const read = path.endsWith("/receipts") ? parseReceipt(body) : decodeReceiptHeader(String(header ?? ""));
      const call = { path, receipt: read.ok ? read.receipt : null, body };
      seen.push(call);
      if (body.stream === true) {
        response.setHeader("content-type", "text/event-stream").end(STREAM);
        return;
      }
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer(script(call), seen.length)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const chunk = (delta: object, finish_reason: string | null) =>
  `data: ${JSON.stringify({ id: "s", object: "chat.completion.chunk", created: 1, model: "local", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const STREAM = `${chunk({ role: "assistant", content: "text" }, null)}${chunk({}, "stop")}data: [DONE]\n\n`;

function answer(tools: readonly ToolCall[], n: number): object {
  const calls = tools.map(({ name, args }, i) => ({
    id: `call-${n}-${i}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: "assistant",
    content: calls.length > 0 ? null : "text",
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    id: `answer-${n}`,
    object: "chat.completion",
    created: 1,
    model: "local",
    choices: [{ index: 0, finish_reason: calls.length > 0 ? "tool_calls" : "stop", message }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}
