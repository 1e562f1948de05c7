/** Wire names of the receipt, in one place. No imports: the client path stays free of dependencies. */

export const SPEC = "topas.receipt/1";

/** base64url of the UTF-8 JSON of one receipt, at most {@link HEADER_MAX_BYTES} characters. */
export const RECEIPT_HEADER = "x-topas-receipt";
/** Member of the JSON request body that may carry the receipt instead of the header. */
export const BODY_MEMBER = "topas";
/** Set by the gateway on every answer: `ok`, `absent` or `ignored:<code>`. */
export const STATUS_HEADER = "x-topas-receipt-status";

/** The form for hand tests and for clients that can only set fixed headers. Values in printable ASCII. */
export const PLAIN_HEADERS = {
  task: "x-topas-task",
  stage: "x-topas-stage",
  agent: "x-topas-agent",
  workflow: "x-topas-workflow",
} as const;

/** Characters of the header value. Common proxies cut one header line at 8 KiB. */
export const HEADER_MAX_BYTES = 8192;
/** Code points of any id or name. */
export const TEXT_MAX_CHARS = 256;
export const STAGES_MAX = 5_000;
export const EDGES_MAX = 20_000;
export const LOOPS_MAX = 1_000;
/** Cap of every number that measures something; beyond it nothing in a serving system is meant. */
export const AMOUNT_MAX = 1e12;
