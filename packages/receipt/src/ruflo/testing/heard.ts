import { decodeReceiptHeader } from "../../decode.ts";
import { RECEIPT_HEADER, STATUS_HEADER } from "../../names.ts";
import type { Receipt } from "../../v1/receipt.ts";

export interface HeardCall {
  /** null: no header at all. */
  readonly receipt: Receipt | null;
  readonly prompt: string;
}

export interface Heard {
  readonly fetch: typeof fetch;
  readonly calls: HeardCall[];
  /** Path and body of what came out of band. */
  readonly beside: { readonly path: string; readonly body: unknown }[];
}

/** A gateway's end of the wire: writes down what arrives, and answers what `answer` says (default: `ok`). */
export function hearing(answer: (prompt: string, call: number) => string | { readonly status: number } = () => "ok"): Heard {
  const calls: HeardCall[] = [];
  const beside: Heard["beside"] = [];
  return {
    calls,
    beside,
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const body: unknown = JSON.parse(typeof init?.body === "string" ? init.body : "null");
      if (!url.pathname.endsWith("/completions")) {
        beside.push({ path: url.pathname, body });
        return Response.json({}, { status: 202 });
      }
      const header = new Headers(init?.headers).get(RECEIPT_HEADER);
      const { messages } = body as { messages: { content: string }[] };
      const prompt = messages.at(-1)!.content;
      calls.push({ receipt: header === null ? null : receiptIn(header), prompt });
      const said = answer(prompt, calls.length - 1);
      await Promise.resolve();
      const headers = { [STATUS_HEADER]: header === null ? "absent" : "ok" };
      if (typeof said !== "string") return Response.json({ error: { message: "no" } }, { status: said.status, headers });
      return Response.json({ choices: [{ message: { role: "assistant", content: said } }] }, { headers });
    },
  };
}

/** Throws when the gateway would refuse it. */
function receiptIn(header: string): Receipt {
  const decoded = decodeReceiptHeader(header);
  if (!decoded.ok) throw new Error(`${decoded.code}: ${decoded.message}`);
  return decoded.receipt;
}
