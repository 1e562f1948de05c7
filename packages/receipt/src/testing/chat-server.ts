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
      const message = answer(script(call), seen.length);
      if (body.stream === true) response.setHeader("content-type", "text/event-stream").end(streamed(message));
      else response.setHeader("content-type", "application/json").end(JSON.stringify({ ...HEAD, ...message }));
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

const HEAD = { id: "answer", object: "chat.completion", created: 1, model: "local" };

interface Answer {
  readonly choices: readonly [{ readonly index: 0; readonly finish_reason: string; readonly message: object }];
  readonly usage: object;
}

function answer(tools: readonly ToolCall[], n: number): Answer {
  const tool_calls = tools.map(({ name, args }, index) => ({
    index,
    id: `call-${n}-${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const asks = tool_calls.length > 0;
  const message = { role: "assistant", content: asks ? null : "text", ...(asks ? { tool_calls } : {}) };
  return {
    choices: [{ index: 0, finish_reason: asks ? "tool_calls" : "stop", message }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function streamed({ choices: [choice] }: Answer): string {
  const chunk = (delta: object, finish_reason: string | null): string =>
    `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  return `${chunk(choice.message, null)}${chunk({}, choice.finish_reason)}data: [DONE]\n\n`;
}
