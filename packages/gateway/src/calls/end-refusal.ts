import type { CallEnd } from "@topas/engines";
import { fromGatewayError, fromReported, type Refusal } from "../error-reply.ts";
import { GatewayError } from "../errors.ts";

/** What an engine's end other than a finish means to a client. Cancelled by nobody of ours: its task was (K40). */
export function endRefusal(end: CallEnd): Refusal {
  if (end.error !== undefined) return fromReported(end.error);
  return fromGatewayError(new GatewayError(end.reason === "cancelled" ? "task_cancelled" : "upstream_error"));
}

export function isFinish(reason: CallEnd["reason"]): reason is "stop" | "length" {
  return reason === "stop" || reason === "length";
}
