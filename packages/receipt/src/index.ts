export { topasFetch, type TopasFetchOptions } from "./client.ts";
export { RECEIPT_CODES, type ReceiptCode, type Refusal } from "./codes.ts";
export { decodeHeaderJson, decodeReceiptHeader } from "./decode.ts";
export {
  DROP_ORDER,
  encodeReceiptHeader,
  fitReceiptHeader,
  ReceiptEncodeError,
  type EncodedReceipt,
  type ReceiptContext,
} from "./encode.ts";
export { checkGraph, type GraphIssue } from "./graph-check.ts";
export { receiptJsonSchema } from "./json-schema.ts";
export { BODY_MEMBER, HEADER_MAX_BYTES, PLAIN_HEADERS, RECEIPT_HEADER, SPEC, STATUS_HEADER, TEXT_MAX_CHARS } from "./names.ts";
export { parseGraph, parseReceipt, type ParsedGraph, type ParsedReceipt } from "./parse.ts";
export { PreemptCost, ReloadCost } from "./v1/cost.ts";
export { DurationEstimate, RemainingEstimate, ReuseEstimate, TokensEstimate } from "./v1/estimate.ts";
export { Prefix } from "./v1/prefix.ts";
export { Receipt, type ReceiptInput, type ServingStateReceipt } from "./v1/receipt.ts";
export { Residency } from "./v1/residency.ts";
export { Loop, Stage, StageStatus } from "./v1/stage.ts";
export { TEXT_PATTERN } from "./v1/text.ts";
export { Timestamp, timestampMs } from "./v1/timestamp.ts";
export { Workflow } from "./v1/workflow.ts";
