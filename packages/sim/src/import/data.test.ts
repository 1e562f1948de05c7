import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createRng } from "../rng.ts";
import { mean, quantile, standardDeviation } from "../stats.ts";
import type { SimTask } from "../task.ts";
import { importAzure } from "./azure.ts";
import { importCodingSessions } from "./coding-sessions.ts";
import { importMooncake } from "./mooncake.ts";
import { linesOf } from "./rows.ts";
import { importTracelab } from "./tracelab.ts";

/** Public traces, fetched separately and never committed: TOPAS_DATA, or a folder beside the checkout. */
const folder = process.env["TOPAS_DATA"] ?? fileURLToPath(new URL("../../../../../shared/data", import.meta.url));

function withData(file: string, name: string, run: (lines: string[]) => void): void {
  const path = join(folder, file);
  if (!existsSync(path)) {
    it.skip(`${name} (skipped: no ${file}; set TOPAS_DATA to a folder of the public traces)`, () => {});
    return;
  }
  it(name, () => {
    const bytes = readFileSync(path);
    run(linesOf((file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")));
  });
}

const gapCv = (tasks: readonly SimTask[]): number => {
  const gaps = tasks.slice(1).map((task, i) => task.arrivalSeconds - tasks[i]!.arrivalSeconds);
  return standardDeviation(gaps) / mean(gaps);
};

describe("public traces", () => {
  withData(
    "arrivals/mooncake_fast25_conversation.jsonl.gz",
    "Mooncake conversation: bursts vanish once stamps are spread",
    (lines) => {
      const stamped = importMooncake(lines);
      expect(stamped.rows).toBe(12_031);
      expect(gapCv(stamped.tasks)).toBeGreaterThan(2.8);
      expect(gapCv(importMooncake(lines, { spread: { rng: createRng(1), periodMs: 3_000 } }).tasks)).toBeLessThan(1.1);
      expect(stamped.agents.length).toBeGreaterThan(100);
    },
  );

  withData("arrivals/mooncake_fast25_synthetic.jsonl.gz", "Mooncake synthetic: Poisson arrivals", (lines) => {
    const { rows, tasks } = importMooncake(lines);
    expect(rows).toBe(3_993);
    expect(gapCv(tasks)).toBeCloseTo(1.01, 1);
  });

  withData("arrivals/azure_llm_2023_code.csv.gz", "Azure code: lengths and gaps as published", (lines) => {
    const { rows, tasks } = importAzure(lines);
    expect(rows).toBe(8_819);
    expect(gapCv(tasks)).toBeCloseTo(13.2, 0);
    const prompts = tasks.map(({ stages }) => stages[0]!.rounds[0]!.promptTokens);
    expect(quantile(prompts, 0.5)).toBe(1_469);
    expect(quantile(prompts, 0.9) / 5_194).toBeCloseTo(1, 2);
  });

  withData("agentic/tracelab_multi_session_large.csv", "TraceLab: 48 sessions, contexts add up", (lines) => {
    const { rows, tasks } = importTracelab(lines);
    expect([rows, tasks.length]).toEqual([303, 48]);
    expect(tasks.every(({ stages }) => stages.length === 1)).toBe(true);
    expect(Math.max(...tasks.flatMap(({ stages }) => stages[0]!.rounds.map((round) => round.toolWaitSeconds)))).toBeLessThan(0.6);
  });

  withData(
    "agentic/weka_claude_code_sessions.rle.jsonl.gz",
    "coding sessions: calls, sub-agents and prefixes as published",
    (lines) => {
      const { rows, tasks, agents, skippedRows } = importCodingSessions(lines);
      expect([rows, skippedRows]).toEqual([710, 0]);
      const calls = tasks.flatMap(({ stages }) => stages.flatMap(({ agent, rounds }) => rounds.map(() => agent)));
      expect(calls.filter((agent) => agent.startsWith("sub:")).length).toBe(676);
      expect(calls.filter((agent) => agent.startsWith("main:")).length).toBe(48_658);
      const prefixes = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
      const mains = tasks.map(({ stages }) => prefixes.get(stages.find(({ agent }) => agent.startsWith("main:"))!.agent)!);
      expect(quantile(mains, 0.5)).toBeCloseTo(14_949, -2);
    },
  );
});
