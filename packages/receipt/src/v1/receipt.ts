import * as z from "zod";
import { SPEC, STAGES_MAX } from "../names.ts";
import { PreemptCost, ReloadCost } from "./cost.ts";
import { DurationEstimate, RemainingEstimate, ReuseEstimate, TokensEstimate } from "./estimate.ts";
import { Prefix } from "./prefix.ts";
import { Residency } from "./residency.ts";
import { StageStatus } from "./stage.ts";
import { Text, maybe } from "./text.ts";
import { Timestamp } from "./timestamp.ts";
import { Workflow } from "./workflow.ts";

/**
 * The ServingStateReceipt (proposed in Ruflo issue 3141): what an orchestrator knows about a workflow and a server does not.
 * Advice only: it grants no capability, no priority over other tenants and no access to data. Everything but `spec` and
 * `taskId` is optional. Unknown members are ignored and left out of the parsed value.
 */
export const Receipt = z.object({
  spec: z.literal(SPEC),
  authority: z.literal("none").default("none"),

  taskId: Text,
  workflowId: maybe(Text),
  parentTaskId: maybe(Text),
  /** When the task began, on the sender's clock. */
  arrival: maybe(Timestamp),
  /** Rises with every receipt of a task; the newest valid one wins. */
  revision: maybe(z.int().min(0)),
  /** After this time the estimates below no longer hold; the identity still does. */
  validUntil: maybe(Timestamp),
  /** This is the last call of the task. */
  final: maybe(z.boolean()),

  graph: maybe(Workflow),
  stage: maybe(Text),
  agent: maybe(Text),
  readyStages: maybe(z.array(Text).max(STAGES_MAX)),
  status: maybe(z.array(StageStatus).max(STAGES_MAX)),
  /** Agents whose calls come next, soonest first. */
  nextAgents: maybe(z.array(Text).max(1_000)),
  /** Longest chain of service still to do. */
  remainingPath: maybe(RemainingEstimate),
  /** Sum of service still to do, all branches. */
  remainingWork: maybe(RemainingEstimate),

  prefix: maybe(Prefix),
  residency: maybe(Residency),
  kvReservation: maybe(TokensEstimate),
  expectedReuse: maybe(ReuseEstimate),
  expectedOutputTokens: maybe(TokensEstimate),
  /** Names the private history this call continues, inside its task. */
  sessionKey: maybe(Text),
  toolWait: maybe(z.object({ expectedEnd: Timestamp })),

  /** How long the task has run; used where `arrival` is absent. */
  taskAge: maybe(DurationEstimate),
  preemptCost: maybe(PreemptCost),
  reloadCost: maybe(ReloadCost),
});

/** A parsed receipt. */
export type Receipt = z.output<typeof Receipt>;
/** The name the proposal gives it. */
export type ServingStateReceipt = Receipt;
/** What may be sent: `authority` may be left out. */
export type ReceiptInput = z.input<typeof Receipt>;
