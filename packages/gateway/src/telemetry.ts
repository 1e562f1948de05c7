import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { isErrorCode } from "./errors.ts";
import type { KeyLimiter } from "./key-limits.ts";
import { metricNames } from "./names.ts";
import { schedulerText, setSchedulerGauges } from "./telemetry-scheduler.ts";
import type { Scheduler } from "./scheduler.ts";

/** What one request leaves behind, at its terminal event. */
export interface RequestRecord {
  /** One of the routes in our own table, or "unmatched": never what a client wrote (K74). */
  readonly route: string;
  readonly status: number;
  /** A code of the error catalogue, or null for a success. */
  readonly code: string | null;
  /** null: not an inference call. */
  readonly durationSeconds: number | null;
  /** null: never admitted. */
  readonly queueSeconds: number | null;
  /** null: no byte was sent. */
  readonly firstTokenSeconds: number | null;
  /** Mean seconds between output tokens; null: fewer than two, or the engine does not say how many. */
  readonly perTokenSeconds: number | null;
}

export interface Telemetry {
  record(record: RequestRecord): void;
  /** Prometheus text, the scheduler's own counters included. */
  text(): Promise<string>;
  readonly contentType: string;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** One registry a gateway: two gateways in one process never share a counter. Histograms move at the end of a call only. */
export function createTelemetry(scheduler: Scheduler, keyLimiter: KeyLimiter, openCalls: () => number): Telemetry {
  const registers = [new Registry()];
  const registry = registers[0] as Registry;
  const requests = new Counter({
    name: metricNames.requests,
    help: "Requests by route and HTTP status; 499: the client left first.",
    labelNames: ["route", "status"],
    registers,
  });
  const refusals = new Counter({
    name: metricNames.refusals,
    help: "Failed requests by error code.",
    labelNames: ["code"],
    registers,
  });
  const histogram = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers });
  const queue = histogram(metricNames.queueSeconds, "Seconds from arrival to admission.", SECONDS);
  const firstToken = histogram(metricNames.firstToken, "Seconds from arrival to the first byte of the answer.", SECONDS);
  const perToken = histogram(metricNames.perToken, "Mean seconds between output tokens of one call.", TOKEN_SECONDS);
  const duration = histogram(metricNames.requestSeconds, "Seconds from arrival to the terminal event.", SECONDS);
  new Gauge({
    name: metricNames.openCalls,
    help: "Calls without a terminal event.",
    registers,
    collect: function () {
      this.set(openCalls());
    },
  });
  setSchedulerGauges(scheduler, registers);
  new Gauge({
    name: metricNames.keyLimit,
    help: "Limits of one API key, counted in this process alone.",
    labelNames: ["scope", "limit"],
    registers,
    collect() {
      this.reset();
      for (const [limit, value] of Object.entries(keyLimiter.limits))
        if (value !== null) this.set({ scope: "process", limit }, value);
    },
  });

  return {
    contentType: registry.contentType,
    record(record) {
      requests.inc({ route: record.route, status: record.status });
      if (record.code !== null) refusals.inc({ code: isErrorCode(record.code) ? record.code : "other" });
      if (record.durationSeconds !== null) duration.observe(record.durationSeconds);
      if (record.queueSeconds !== null) queue.observe(record.queueSeconds);
      if (record.firstTokenSeconds !== null) firstToken.observe(record.firstTokenSeconds);
      if (record.perTokenSeconds !== null) perToken.observe(record.perTokenSeconds);
    },
    text: async () => (await registry.metrics()) + schedulerText({ ...scheduler.counters(), ...keyLimiter.counters() }),
  };
}
