/**
 * Every refusal the gateway can answer, as one catalogue: code, HTTP status, OpenAI error type, dropped reason, and whether a
 * Retry-After belongs to it. 429 = capacity exists but is contended; 503 = there is none (llm-d-router #2046).
 */
export type ErrorCode = keyof typeof CATALOGUE;

export interface CatalogueRow {
  readonly status: number;
  readonly type: "invalid_request_error" | "authentication_error" | "rate_limit_error" | "server_error";
  /** What went wrong and what to do about it; used when the thrower has nothing more exact to say. */
  readonly message: string;
  /** `x-topas-dropped-reason`: `rejected-*` means that no engine work was done and a retry is safe. */
  readonly dropped?: string;
  /** Seconds; present on every refusal that may be retried. */
  readonly retryAfterSeconds?: number;
}

const invalid = (status: number, message: string): CatalogueRow => ({ status, type: "invalid_request_error", message });
const overload = (code: 429 | 503, dropped: string, message: string): CatalogueRow => ({
  status: code,
  type: code === 429 ? "rate_limit_error" : "server_error",
  message,
  dropped,
  retryAfterSeconds: 2,
});

const CATALOGUE = {
  invalid_request: invalid(400, "the request is not valid"),
  invalid_json: invalid(400, "the body is not valid JSON"),
  unsupported_media_type: invalid(415, "send the body as content-type: application/json"),
  payload_too_large: invalid(413, "the body is larger than this gateway accepts: shorten the messages"),
  context_length_exceeded: invalid(400, "prompt and max_tokens do not fit the context: shorten messages or lower max_tokens"),
  unknown_policy: invalid(400, "unknown policy: name one this scheduler has"),
  invalid_workflow: invalid(422, "the workflow is not valid"),
  invalid_config: invalid(422, "the configuration is not valid: the old one stays in force"),
  invalid_receipt: invalid(422, "the receipt is not valid"),
  headers_too_large: invalid(431, "the request's headers are too large: send the receipt in the body"),
  request_timeout: invalid(408, "the request did not arrive in time: send it again, faster"),
  not_found: invalid(404, "there is nothing here"),
  duplicate_request_id: invalid(409, "a call with this x-request-id is still in flight: send a new id, or none"),
  task_cancelled: invalid(410, "this task was cancelled: start a new one"),
  forbidden: invalid(403, "admin routes answer on loopback only: set an admin token to open them"),
  invalid_api_key: {
    status: 401,
    type: "authentication_error",
    message: "missing or unknown API key: send Authorization: Bearer <key>",
  },
  rate_limit_exceeded: overload(429, "rejected-quota", "this key is over its limit: retry later"),
  queue_full: overload(429, "rejected-saturated", "the queue is full: retry later"),
  queue_timeout: overload(429, "rejected-ttl-expired", "the call waited for its whole queue deadline: retry later"),
  no_capacity: overload(503, "rejected-no-endpoints", "no engine can take calls: retry later"),
  engine_unavailable: overload(503, "rejected-no-endpoints", "the engine is not ready: retry later"),
  engine_lost: overload(503, "evicted", "the engine was lost while it worked on this call: retry"),
  stalled: overload(503, "rejected-internal", "the scheduler makes no progress: retry later"),
  shutting_down: overload(503, "rejected-shutting-down", "the gateway is shutting down: retry elsewhere"),
  retraction_limit: overload(
    503,
    "evicted",
    "the engine took this call's memory too many times: retry, or give the engine more KV cache",
  ),
  preempted: overload(503, "evicted-priority", "the call was preempted before its first byte: retry"),
  upstream_unavailable: overload(503, "rejected-no-endpoints", "the upstream cannot be reached: retry later"),
  upstream_timeout: { status: 504, type: "server_error", message: "the engine did not answer in time" },
  upstream_error: { status: 502, type: "server_error", message: "the engine failed on this call" },
  slow_reader: { status: 499, type: "invalid_request_error", message: "the client reads too slowly: the stream was cut" },
  internal_error: { status: 500, type: "server_error", message: "the gateway failed on this call" },
} as const satisfies Record<string, CatalogueRow>;

/** The whole catalogue, for the docs and for the test that compares the two. */
export const errorCatalogue: Readonly<Record<ErrorCode, CatalogueRow>> = CATALOGUE;

export interface GatewayErrorOptions {
  readonly message?: string;
  /** The request field at fault, in OpenAI's `param`. */
  readonly param?: string | null;
  /** Seconds; rounded up and clamped to [1, 30] (llm-d #2487). */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

const MARKER = Symbol.for("topas.GatewayError");

/** A refusal a client may see. Use {@link GatewayError.isInstance}: `instanceof` fails across package copies. */
export class GatewayError extends Error {
  readonly marker = MARKER;
  readonly code: string;
  readonly status: number;
  readonly type: CatalogueRow["type"];
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  readonly droppedReason: string | null;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    const row: CatalogueRow = CATALOGUE[code];
    super(options.message ?? row.message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "GatewayError";
    this.code = code;
    this.status = row.status;
    this.type = row.type;
    this.param = options.param ?? null;
    this.droppedReason = row.dropped ?? null;
    const seconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.retryAfterSeconds = seconds === undefined || row.retryAfterSeconds === undefined ? null : wholeSeconds(seconds);
  }

  static isInstance(error: unknown): error is GatewayError {
    return typeof error === "object" && error !== null && (error as { marker?: unknown }).marker === MARKER;
  }
}

/** Is this a code of the catalogue? */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(CATALOGUE, code);
}

function wholeSeconds(seconds: number): number {
  return Number.isFinite(seconds) ? Math.min(30, Math.max(1, Math.ceil(seconds))) : 2;
}
