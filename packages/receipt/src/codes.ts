/** Why a receipt was not accepted. Closed, because the codes become metric labels and header values. */
export const RECEIPT_CODES = {
  not_an_object: "the receipt is not a JSON object",
  unknown_spec: "`spec` is missing or names a version that is not known here",
  claims_authority: '`authority` is something else than "none"',
  missing_task: "`taskId` is missing",
  missing_field: "a member that this part needs is missing",
  wrong_type: "a member has the wrong JSON type",
  unknown_value: "a member holds a word that is not in its list",
  out_of_range: "a number is negative, not finite, too large or not whole",
  empty: "an id is the empty string, or a list that may not be empty is",
  too_long: "a string is longer than its limit",
  unprintable: "an id holds control characters or broken Unicode",
  too_many: "a list is longer than its limit",
  duplicate_stage: "two stages of the graph share one id",
  unknown_stage: "an edge or a loop names a stage that the graph does not have",
  self_edge: "an edge leads from a stage to itself",
  loop_bounds: "a mean number of laps or rounds exceeds its maximum",
  undeclared_cycle: "the graph has a cycle that no loop declares",
  header_too_large: "the header is longer than 8 KiB",
  header_not_base64url: "the header is not base64url",
  header_not_json: "the header does not decode to UTF-8 JSON",
} as const;

export type ReceiptCode = keyof typeof RECEIPT_CODES;

export interface Refusal {
  readonly ok: false;
  readonly code: ReceiptCode;
  /** One sentence that names the field and the fix. */
  readonly message: string;
}

export function refuse(code: ReceiptCode, message: string): Refusal {
  return { ok: false, code, message };
}
