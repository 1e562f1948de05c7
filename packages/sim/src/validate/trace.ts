import type { Profile } from "../model/profile.ts";
import { simulate } from "../simulate.ts";
import { mean, quantile } from "../stats.ts";
import { row, type Facts, type ValidationRow } from "./facts.ts";
import { singleCalls } from "./serving.ts";

interface TraceRow {
  readonly input_toks: number;
  readonly output_toks: number;
  readonly queued_ts: number;
  readonly first_token_ts: number;
  readonly last_token_ts: number;
}

/** A measured run request by request (LLMServingSim's `requests.jsonl`), replayed with its own arrivals (section 7.2). */
export function traceRows(trace: Facts["trace"], profile: Profile, requestsJsonl: string): ValidationRow[] {
  const rows = requestsJsonl
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as TraceRow)
    .toSorted((a, b) => a.queued_ts - b.queued_ts);
  const start = rows[0]!.queued_ts;
  const tasks = singleCalls(
    rows.map((one) => [one.input_toks, one.output_toks] as const),
    rows.map((one) => one.queued_ts - start),
  );
  const agents = [{ name: "plain", prefixTokens: 0 }];
  const { budgetTokens: budget, rules } = trace;
  const result = simulate({ profile, budget, rules, agents, tasks, record: { log: "none" } });
  const measured = {
    ttftSeconds: rows.map((one) => one.first_token_ts - one.queued_ts),
    tpotMs: rows.map((one) => (1000 * (one.last_token_ts - one.first_token_ts)) / (one.output_toks - 1)),
    e2eSeconds: rows.map((one) => one.last_token_ts - one.queued_ts),
  };
  const simulated = {
    ttftSeconds: result.calls.map((call) => call.firstTokenSeconds - call.readySeconds),
    tpotMs: result.calls.map((call) => (1000 * (call.finishedSeconds - call.firstTokenSeconds)) / (call.outputTokens - 1)),
    e2eSeconds: result.calls.map((call) => call.finishedSeconds - call.readySeconds),
  };
  return (["ttftSeconds", "tpotMs", "e2eSeconds"] as const).flatMap((metric) => [
    row(trace.case, `${metric} mean`, mean(measured[metric]), mean(simulated[metric]), trace.meanTolerancePct),
    ...[0.5, 0.99].map((p) =>
      row(
        trace.case,
        `${metric} p${p * 100}`,
        quantile(measured[metric], p),
        quantile(simulated[metric], p),
        trace.quantileTolerancePct,
      ),
    ),
  ]);
}
