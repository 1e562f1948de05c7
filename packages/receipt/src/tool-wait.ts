import type { ReceiptContext } from "./encode.ts";
import { SPEC } from "./names.ts";

export interface ToolWaitOptions {
  /** The gateway's address with `/v1`, as the client has it. */
  readonly baseURL: string;
  /** How long the tool is expected to take, seconds. */
  readonly seconds: number;
  readonly send?: typeof fetch;
  /** `authorization`, where the gateway asks for a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Told when the gateway did not take the word; the tool runs all the same. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Runs `tool` and tells the gateway, beside it, that the stage waits for it: a wait makes no model call, so the word goes to
 * `POST /v1/receipts`. Never delays the tool and never fails it. The next call of the stage ends the wait. The gateway books a
 * wait only for a stage whose graph declares `rounds` that are not used up.
 */
export async function toolWait<R>(
  receipt: ReceiptContext | undefined,
  options: ToolWaitOptions,
  tool: () => R,
): Promise<Awaited<R>> {
  if (receipt !== undefined) void tell(receipt, options);
  return await tool();
}

async function tell(
  receipt: ReceiptContext,
  { baseURL, seconds, send = fetch, headers, onError }: ToolWaitOptions,
): Promise<void> {
  try {
    const body = JSON.stringify({ ...receipt, spec: SPEC, final: null, toolWait: { expectedEnd: Date.now() + seconds * 1000 } });
    const answer = await send(`${baseURL.replace(/\/+$/, "")}/receipts`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`POST ${baseURL}/receipts: ${answer.status} ${text.slice(0, 200)}`);
  } catch (error) {
    try {
      onError?.(error);
    } catch {
      // The caller's own reporting may not cost the tool either.
    }
  }
}
