import { Gauge, type Registry } from "prom-client";
import { metricNames, schedulerGauges } from "./names.ts";
import type { Scheduler } from "./scheduler.ts";

/** Gauges read from the scheduler when somebody scrapes, and at no other time. */
export function setSchedulerGauges(scheduler: Scheduler, registers: Registry[]): void {
  // Registered first: it is collected first, and sets the others from the same snapshot.
  new Gauge({
    name: metricNames.waitAgeMax,
    help: "Seconds the oldest waiting call has waited.",
    registers,
    collect() {
      const { waiting, running, kv: tokens } = scheduler.snapshot();
      this.set(waiting.reduce((oldest, call) => Math.max(oldest, call.waitedSeconds), 0));
      depth.set(waiting.length);
      inFlight.set(running.length);
      kv.set({ kind: "free" }, tokens.free);
      kv.set({ kind: "resident" }, tokens.resident);
      kv.set({ kind: "running" }, tokens.running);
      kv.set({ kind: "promised" }, tokens.promised);
      kv.set({ kind: "pending_free" }, tokens.pendingFree);
    },
  });
  new Gauge({
    name: metricNames.ready,
    help: "1: it can make progress.",
    registers,
    collect() {
      this.set(scheduler.health().ready ? 1 : 0);
    },
  });
  const kv = new Gauge({
    name: metricNames.kvTokens,
    help: "KV cache in tokens, by what holds it.",
    labelNames: ["kind"],
    registers,
  });
  const depth = new Gauge({ name: metricNames.queueDepth, help: "Waiting calls.", registers });
  const inFlight = new Gauge({ name: metricNames.inFlight, help: "Calls handed to the engine.", registers });
}

/** The scheduler's counters as Prometheus lines. Its keys are code, not input; anything that is no metric name is left out. */
export function schedulerText(counters: Readonly<Record<string, number>>): string {
  let text = "";
  for (const [key, value] of Object.entries(counters)) {
    if (!/^[a-z][a-z0-9_]*$/.test(key) || !Number.isFinite(value)) continue;
    const name = `${metricNames.scheduler}${key}`;
    text += `# TYPE ${name} ${schedulerGauges.has(key) ? "gauge" : "counter"}\n${name} ${value}\n`;
  }
  return text;
}
