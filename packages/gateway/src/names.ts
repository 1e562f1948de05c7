/** Every metric, header and counter name of the gateway. GenAI names follow OpenTelemetry's semantic conventions 1.45. */
export const metricNames = {
  requests: "topas_requests_total",
  refusals: "topas_refusals_total",
  openCalls: "topas_open_calls",
  queueSeconds: "topas_queue_seconds",
  firstToken: "gen_ai_server_time_to_first_token_seconds",
  perToken: "gen_ai_server_time_per_output_token_seconds",
  requestSeconds: "gen_ai_server_request_duration_seconds",
  queueDepth: "topas_queue_depth",
  inFlight: "topas_in_flight",
  waitAgeMax: "topas_wait_age_max_seconds",
  kvTokens: "topas_kv_tokens",
  ready: "topas_ready",
  keyLimit: "topas_key_limit",
  /** Prefix of the scheduler's own counters. */
  scheduler: "topas_scheduler_",
} as const;

export const headerNames = {
  requestId: "x-request-id",
  ownRequestId: "x-topas-request-id",
  receiptStatus: "x-topas-receipt-status",
  receiptWarning: "x-topas-receipt-warning",
  droppedReason: "x-topas-dropped-reason",
  /** The same word where llm-d's clients look for it. */
  droppedReasonLlmd: "x-llm-d-request-dropped-reason",
} as const;

/** Keys of `Scheduler.counters()` that are gauges; every other key is taken as a running total. */
export const schedulerGauges: ReadonlySet<string> = new Set([
  "queue_depth",
  "in_flight",
  "tasks",
  "policy_fallback",
  "decision_p50_seconds",
  "decision_p95_seconds",
  "decision_max_seconds",
]);
