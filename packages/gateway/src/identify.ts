import type { TaskHints } from "@topas/core";
import type { Receipt, ReceiptCode } from "@topas/receipt";
import { ALLOWED_LEAD_SECONDS, isExpired, taskAge } from "./identify/age.ts";
import { findReceipt } from "./identify/find-receipt.ts";
import { frame, headerSafe, scopedId, tameId } from "./identify/frame.ts";
import { bodyFields } from "./identify/known-body.ts";
import { agentHeaders, plainHeaders } from "./identify/known-headers.ts";
import { claimOf, type Claim, type ClaimText, type Headers } from "./identify/sources.ts";
import { scopeAgents, toGraph, toHints } from "./identify/to-core.ts";
import type { CallIdentity } from "./scheduler.ts";

export interface IdentifyInput {
  readonly tenant: string;
  /** Lower-case names. */
  readonly headers: Headers;
  /** The parsed JSON body, or whatever came. */
  readonly body: unknown;
  /** Identity of the shareable prefix as the engine tokenized it; null: nothing to share. */
  readonly prefixId: string | null;
  /** Wall clock, milliseconds since the epoch: compared with foreign clocks only. */
  readonly nowMs: number;
  /** Monotonic seconds. */
  readonly nowSeconds: number;
  /** Ours, unique in the process: names the task of a call that nobody named. */
  readonly requestId: string;
  /** Default 60 s. */
  readonly allowedLeadSeconds?: number;
}

export interface Identified {
  readonly identity: CallIdentity;
  /** Value of `x-topas-receipt-status`; a closed list, fit for a metric label. */
  readonly receiptStatus: "ok" | "absent" | `ignored:${ReceiptCode | "expired"}`;
  /** Printable ASCII, one line each. */
  readonly warnings: readonly string[];
  /** The sender's clock was ahead, unreadable or too far back. Counted once a task, at first sight, by the workflow store. */
  readonly clockSuspect: boolean;
  /** The receipt that was used; null when there was none, it was refused or it had expired. */
  readonly receipt: Receipt | null;
  /** Tenant-scoped task that started this one. */
  readonly parentTask: string | null;
}

/**
 * Who is calling. Per field: valid receipt (header, then body) > plain `x-topas-*` headers > headers known agents send > known
 * body fields > inferred. Never throws, and reads nothing from a client into tenant, limits or priority. A call that nobody named
 * is a task of its own; an agent that nobody named is the prefix it shares.
 */
export function identify(input: IdentifyInput): Identified {
  const { tenant, headers, body } = input;
  const leadSeconds = input.allowedLeadSeconds ?? ALLOWED_LEAD_SECONDS;
  const found = findReceipt(headers, body);
  const expired = found.receipt !== null && isExpired(found.receipt, input.nowMs, leadSeconds);
  const receipt = expired ? null : found.receipt;
  const warnings = [
    ...found.warnings,
    ...(expired ? ["receipt_ignored: expired: validUntil has passed; only its ids were used"] : []),
  ];

  const claims: readonly (readonly [CallIdentity["source"], Claim])[] = [
    ["receipt", found.receipt ? receiptClaim(found.receipt) : {}],
    ["headers", plainHeaders(headers)],
    ["session", agentHeaders(headers)],
    ["session", bodyFields(body)],
  ];
  const pick = (field: ClaimText): string | null => {
    const value = claims.find(([, claim]) => claim[field] !== undefined)?.[1][field];
    if (value === undefined) return null;
    const tamed = tameId(value);
    if (tamed.hashed) warnings.push(`id_hashed: ${field}`);
    return tamed.id;
  };

  const named = pick("task");
  const task = named === null ? frame([tenant, "", input.requestId]) : scopedId(tenant, named);
  const [workflow, parentTask, sessionKey] = [pick("workflow"), pick("parentTask"), pick("sessionKey")];
  const stage = pick("stage") ?? "*";
  const graph = receipt?.graph ? scopeAgents(tenant, toGraph(receipt.graph)) : null;
  const agentName = pick("agent");
  const declared = graph?.stages.find((each) => each.id === stage)?.agent ?? null;
  const agent = (agentName === null ? declared : scopedId(tenant, agentName)) ?? input.prefixId ?? frame([tenant, "", "*"]);
  const age = taskAge(found.receipt, input.nowMs, leadSeconds);

  return {
    identity: {
      tenant,
      task,
      taskIsCall: named === null,
      workflow: workflow === null ? null : scopedId(tenant, workflow),
      stage,
      agent,
      session: named === null ? null : sessionId(tenant, named, agent, sessionKey),
      ageSeconds: age.ageSeconds,
      graph,
      hints: hintsOf(receipt, claims, input),
      final: claims.some(([, claim]) => claim.final === true),
      ...(receipt?.status ? { ended: receipt.status } : {}),
      source: claims.find(([, claim]) => claim.task !== undefined)?.[0] ?? "inferred",
    },
    receiptStatus: expired ? "ignored:expired" : found.status,
    warnings: warnings.map(headerSafe),
    clockSuspect: age.suspect,
    receipt,
    parentTask: parentTask === null ? null : scopedId(tenant, parentTask),
  };
}

/** Private history of one agent inside one task, unless the client names it: then exactly what it names, inside its task. */
function sessionId(tenant: string, task: string, agent: string, key: string | null): string {
  return key === null ? frame([tenant, task, agent]) : frame([tenant, task, "", key]);
}

function receiptClaim(receipt: Receipt): Claim {
  return claimOf({
    task: receipt.taskId,
    parentTask: receipt.parentTaskId,
    workflow: receipt.workflowId,
    stage: receipt.stage,
    agent: receipt.agent,
    sessionKey: receipt.sessionKey,
    final: receipt.final,
  });
}

function hintsOf(
  receipt: Receipt | null,
  claims: readonly (readonly [unknown, Claim])[],
  input: IdentifyInput,
): TaskHints | null {
  const hints = receipt ? toHints(receipt, input.nowMs, input.nowSeconds) : null;
  const output = claims.find(([, claim]) => claim.expectedOutputTokens !== undefined)?.[1].expectedOutputTokens;
  return output === undefined ? hints : { expectedOutputTokens: output, ...hints };
}
