import type { ReceiptContext } from "../encode.ts";
import { SPEC, STATUS_HEADER } from "../names.ts";
import type { Workflow } from "../v1/workflow.ts";

/** A gateway that does not answer out of band may not keep the process alive longer. */
const PATIENCE_MS = 2_000;

/** What is told beside the calls. Nothing here is awaited, retried or able to throw. */
export interface GatewayLink {
  /** Looks at an answer: only a server that answers as this gateway does is told more. */
  readonly met: (url: string, headers: Headers, answer: Response) => void;
  /** A graph that is too large to ride on calls. */
  readonly declare: (workflowId: string, graph: Workflow) => void;
  readonly tell: (receipt: ReceiptContext) => void;
  readonly finish: (taskId: string, outcome: "done" | "cancelled") => void;
}

export function gatewayLink(send: typeof fetch): GatewayLink {
  let known: { readonly base: string; readonly authorization: string | null } | null = null;
  const say = (method: string, path: string, body: unknown): void => {
    if (known === null) return;
    try {
      const headers = new Headers({ "content-type": "application/json" });
      if (known.authorization !== null) headers.set("authorization", known.authorization);
      send(`${known.base}${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }).then(
        (answer) => void answer.body?.cancel().catch(() => undefined),
        () => undefined,
      );
    } catch {
      // Best effort: the call that follows carries a receipt of its own.
    }
  };
  return {
    met: (url, headers, answer) => {
      const end = url.indexOf("/v1/");
      if (end > 0 && answer.headers.has(STATUS_HEADER))
        known = { base: url.slice(0, end), authorization: headers.get("authorization") };
    },
    declare: (workflowId, graph) => say("PUT", `/v1/workflows/${encodeURIComponent(workflowId)}`, graph),
    tell: (receipt) => say("POST", "/v1/receipts", { ...receipt, spec: SPEC, authority: "none" }),
    finish: (taskId, outcome) => say("POST", `/v1/tasks/${encodeURIComponent(taskId)}/finish`, { outcome }),
  };
}
