import type { Receipt, ReceiptCode } from "@topas/receipt";
import type { Identified } from "../identify.ts";
import { ALLOWED_LEAD_SECONDS, isExpired, taskAge } from "./age.ts";
import { readReceipt } from "./find-receipt.ts";
import { headerSafe, scopedId } from "./frame.ts";
import { scopeAgents, toGraph, toHints } from "./to-core.ts";

export type ReceiptUpdate =
  | { readonly ok: true; readonly identified: Identified & { readonly receipt: Receipt }; readonly stage: string | null }
  | { readonly ok: false; readonly code: ReceiptCode | "expired"; readonly message: string };

/** A receipt sent on its own (`POST /v1/receipts`): tool waits and finished branches make no model call. Never throws. */
export function identifyReceipt(input: {
  readonly tenant: string;
  readonly body: unknown;
  readonly nowMs: number;
  readonly nowSeconds: number;
  readonly allowedLeadSeconds?: number;
}): ReceiptUpdate {
  const { tenant, nowMs, nowSeconds } = input;
  const leadSeconds = input.allowedLeadSeconds ?? ALLOWED_LEAD_SECONDS;
  const { parsed, hashed } = readReceipt(input.body);
  if (!parsed.ok) return { ok: false, code: parsed.code, message: headerSafe(parsed.message) };
  const { receipt } = parsed;
  if (isExpired(receipt, nowMs, leadSeconds))
    return { ok: false, code: "expired", message: "validUntil: has passed; send a newer receipt" };
  const age = taskAge(receipt, nowMs, leadSeconds);
  const stage = receipt.stage ?? null;
  return {
    ok: true,
    stage,
    identified: {
      identity: {
        tenant,
        task: scopedId(tenant, receipt.taskId),
        taskIsCall: false,
        workflow: receipt.workflowId == null ? null : scopedId(tenant, receipt.workflowId),
        stage: stage ?? "*",
        agent: scopedId(tenant, receipt.agent ?? "*"),
        session: null,
        ageSeconds: age.ageSeconds,
        graph: receipt.graph ? scopeAgents(tenant, toGraph(receipt.graph)) : null,
        hints: toHints(receipt, nowMs, nowSeconds),
        final: receipt.final ?? false,
        ...(receipt.status ? { ended: receipt.status } : {}),
        source: "receipt",
      },
      receiptStatus: "ok",
      warnings: hashed ? ["id_hashed: receipt"] : [],
      clockSuspect: age.suspect,
      receipt,
      parentTask: receipt.parentTaskId == null ? null : scopedId(tenant, receipt.parentTaskId),
    },
  };
}
