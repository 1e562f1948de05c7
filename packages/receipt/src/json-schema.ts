import * as z from "zod";
import { SPEC } from "./names.ts";
import { DurationEstimate, RemainingEstimate, ReuseEstimate, TokensEstimate } from "./v1/estimate.ts";
import { Receipt } from "./v1/receipt.ts";
import { Loop, Stage } from "./v1/stage.ts";
import { Text } from "./v1/text.ts";
import { Timestamp } from "./v1/timestamp.ts";
import { Workflow } from "./v1/workflow.ts";

/** The receipt as JSON Schema 2020-12, generated from the same objects that validate. What a graph must obey beyond it: `checkGraph`. */
export function receiptJsonSchema(): Record<string, unknown> {
  const named = z.registry<{ id: string }>();
  const parts = { Text, Timestamp, DurationEstimate, RemainingEstimate, TokensEstimate, ReuseEstimate, Stage, Loop, Workflow };
  for (const [id, schema] of Object.entries(parts)) named.add(schema, { id });
  const generated: Record<string, unknown> = z.toJSONSchema(Receipt, { target: "draft-2020-12", io: "input", metadata: named });
  const { $schema, ...rest } = generated;
  return { $schema, $id: `urn:${SPEC.replace(/[./]/g, ":")}`, title: "ServingStateReceipt", ...rest };
}
