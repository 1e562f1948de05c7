import type * as z from "zod";
import { RECEIPT_CODES, refuse, type ReceiptCode, type Refusal } from "./codes.ts";
import { checkGraph, type GraphIssue } from "./graph-check.ts";
import { SPEC } from "./names.ts";
import { Receipt } from "./v1/receipt.ts";
import { TEXT_PATTERN } from "./v1/text.ts";
import { Workflow } from "./v1/workflow.ts";

export type ParsedReceipt = { readonly ok: true; readonly receipt: Receipt } | Refusal;
export type ParsedGraph =
  | { readonly ok: true; readonly graph: Workflow }
  | (Refusal & {
      /** Ids of the stages concerned; empty when the fault is not in the graph's shape. */ readonly members: readonly string[];
    });

/** Schema, then graph. Never throws; the answer to anything odd is a code and one sentence that names the field and the fix. */
export function parseReceipt(value: unknown): ParsedReceipt {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse("not_an_object", `receipt: send a JSON object with "spec" and "taskId"`);
  }
  const head = value as { spec?: unknown; authority?: unknown; taskId?: unknown };
  if (head.spec !== SPEC) return refuse("unknown_spec", `spec: send "${SPEC}"`);
  if (head.authority !== undefined && head.authority !== "none")
    return refuse("claims_authority", `authority: send "none" or leave it out`);
  if (head.taskId === undefined || head.taskId === null)
    return refuse("missing_task", "taskId: send the id of the task, a string");
  const parsed = Receipt.safeParse(value);
  if (!parsed.success) return explain(parsed.error, value);
  const fault = parsed.data.graph ? checkGraph(parsed.data.graph) : null;
  return fault ? refuse(fault.code, fault.message) : { ok: true, receipt: parsed.data };
}

/** The graph alone, as registered with `PUT /v1/workflows/{id}`. */
export function parseGraph(value: unknown): ParsedGraph {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ...refuse("not_an_object", `workflow: send a JSON object with "stages"`), members: [] };
  }
  const parsed = Workflow.safeParse(value);
  if (!parsed.success) return { ...explain(parsed.error, value), members: [] };
  const fault: GraphIssue | null = checkGraph(parsed.data);
  return fault ? { ...refuse(fault.code, fault.message), members: fault.members } : { ok: true, graph: parsed.data };
}

function explain(error: z.ZodError, root: unknown): Refusal {
  const issue = error.issues[0];
  if (!issue) return refuse("wrong_type", "the receipt is not valid");
  const at = valueAt(root, issue.path);
  const code = codeOf(issue, at);
  const field = issue.path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i > 0 ? "." : ""}${String(part)}`))
    .join("");
  return refuse(code, `${field}: ${RECEIPT_CODES[code]}; ${fixFor(code, issue)}`);
}

function codeOf(issue: z.core.$ZodIssue, at: unknown): ReceiptCode {
  switch (issue.code) {
    case "invalid_type":
      if (typeof at === "number" && ["number", "int"].includes(issue.expected)) return "out_of_range";
      return at === undefined ? "missing_field" : "wrong_type";
    case "invalid_union":
      if (typeof at === "number") return "out_of_range";
      if (typeof at === "string") return at === "" ? "empty" : "too_long";
      return at === undefined ? "missing_field" : "wrong_type";
    case "invalid_format":
      if (at === "") return "empty";
      return typeof at === "string" && withoutControls(at) ? "too_long" : "unprintable";
    case "invalid_value":
      if (typeof at === "string") return "unknown_value";
      return at === undefined ? "missing_field" : "wrong_type";
    case "too_small":
      return issue.origin === "array" ? (at instanceof Array && at.length === 0 ? "empty" : "wrong_type") : "out_of_range";
    case "too_big":
      return issue.origin === "array"
        ? issue.path.includes("edges") && issue.maximum === 2
          ? "wrong_type"
          : "too_many"
        : "out_of_range";
    case "custom":
    case "invalid_element":
    case "invalid_key":
    case "not_multiple_of":
    case "unrecognized_keys":
      return "wrong_type";
  }
}

/** Every slice of it would pass as an id, so only its length was wrong. */
function withoutControls(text: string): boolean {
  const points = Array.from(text);
  for (let i = 0; i < points.length; i += 256) if (!TEXT_PATTERN.test(points.slice(i, i + 256).join(""))) return false;
  return true;
}

const FIXES: Partial<Record<ReceiptCode, string>> = {
  out_of_range: "send a finite number inside the documented range",
  too_long: "send a shorter string, or a hash of it",
  unprintable: "send printable characters only",
  too_many: "send fewer, or declare the workflow once and send its id",
  empty: "send a value or leave the member out",
};

function fixFor(code: ReceiptCode, issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `send one of ${issue.values.map(String).join(", ")}`;
  if (issue.code === "invalid_type" && code !== "out_of_range") {
    return `send ${issue.expected === "int" ? "a whole number" : `a value of type ${issue.expected}`}`;
  }
  return FIXES[code] ?? "see the schema";
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const part of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}
