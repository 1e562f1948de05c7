import type { Profile } from "../model/profile.ts";
import { decodeSeconds, stepTimer } from "../model/step-time.ts";

/** Table I, Diagnostic 1 of TOPAS (arXiv 2608.25523), as reported. G: one agent's requests together; A: A, B, A, B. */
const PAPER = [
  { requests: 100, makespan: [1145.5, 2086.0], meanBatch: [9.3, 4.7], peakBatch: [15, 8] },
  { requests: 150, makespan: [1639.3, 3104.4], meanBatch: [10.0, 4.8], peakBatch: [16, 8] },
  { requests: 200, makespan: [2143.5, 4079.1], meanBatch: [11.5, 5.0], peakBatch: [16, 7] },
] as const;

export interface Table1Preset {
  readonly name: "topas-table1-linear" | "topas-table1-engine";
  readonly budgetTokens: number;
  readonly prefixTokens: number;
  readonly suffixTokens: number;
  readonly outputTokens: number;
  /** Share of the tokens still to come that a running call, and a newcomer, count for. */
  readonly runningShare: number;
  readonly newcomerShare: number;
  /** Tokens decoded between two looks at the queue. */
  readonly stride: number;
  readonly prefillSecondsPerToken: number;
  readonly stepSeconds: (batch: number, contextTokens: number) => number;
}

export interface Table1Row {
  readonly preset: Table1Preset["name"];
  readonly requests: number;
  readonly grouped: Table1Run;
  readonly alternating: Table1Run;
  readonly ratio: number;
  readonly batchRatio: number;
  readonly paper: { readonly grouped: number; readonly alternating: number; readonly ratio: number; readonly batchRatio: number };
}

export interface Table1Run {
  readonly makespanSeconds: number;
  readonly meanBatch: number;
  readonly peakBatch: number;
}

/** Both presets at n = 100, 150 and 200, the paper's numbers beside ours. `profile`: Qwen2.5-32B on an A100-80GB. */
export function table1(profile: Profile): Table1Row[] {
  return [linearPreset(), enginePreset(profile)].flatMap((preset) =>
    PAPER.map((paper) => {
      const half = paper.requests / 2;
      const grouped = run(
        preset,
        Array.from({ length: paper.requests }, (_, i) => (i < half ? 0 : 1)),
      );
      const alternating = run(
        preset,
        Array.from({ length: paper.requests }, (_, i) => i % 2),
      );
      return {
        preset: preset.name,
        requests: paper.requests,
        grouped,
        alternating,
        ratio: alternating.makespanSeconds / grouped.makespanSeconds,
        batchRatio: grouped.meanBatch / alternating.meanBatch,
        paper: {
          grouped: paper.makespan[0],
          alternating: paper.makespan[1],
          ratio: paper.makespan[1] / paper.makespan[0],
          batchRatio: paper.meanBatch[0] / paper.meanBatch[1],
        },
      };
    }),
  );
}

/** Seven knobs fitted on n = 100 and 150; prefill costs nothing. */
export function linearPreset(): Table1Preset {
  return {
    name: "topas-table1-linear",
    budgetTokens: 36_000,
    prefixTokens: 12_420,
    suffixTokens: 600,
    outputTokens: 2_400,
    runningShare: 0.3,
    newcomerShare: 0.3,
    stride: 20,
    prefillSecondsPerToken: 0,
    stepSeconds: (batch) => 0.04 + 0.0008 * batch,
  };
}

/** Step time of the engine model; fitted on n = 100 only. */
export function enginePreset(profile: Profile): Table1Preset {
  const timer = stepTimer(profile);
  const load = { prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: 0, contextTokens: 0, residentTokens: 0 };
  return {
    name: "topas-table1-engine",
    budgetTokens: 20_000,
    prefixTokens: 6_000,
    suffixTokens: 200,
    outputTokens: 2_000,
    runningShare: 0.3,
    newcomerShare: 1,
    stride: 20,
    prefillSecondsPerToken: 1 / 3_300,
    stepSeconds: (batch, contextTokens) =>
      batch === 0 ? decodeSeconds(profile, 1, 0) : timer({ ...load, decodes: batch, contextTokens }),
  };
}

interface Job {
  readonly agent: number;
  generated: number;
}

/** Head of line, FCFS; overflow retracts the newest call and keeps its tokens. */
function run(preset: Table1Preset, agents: readonly number[]): Table1Run {
  const { budgetTokens, prefixTokens, suffixTokens, outputTokens, runningShare, newcomerShare, stride } = preset;
  const waiting: Job[] = agents.map((agent) => ({ agent, generated: 0 }));
  const running: Job[] = [];
  const resident = new Set<number>();
  let now = 0;
  let batchSeconds = 0;
  let decodingSeconds = 0;
  let peakBatch = 0;
  const pinned = (): number => new Set(running.map((job) => job.agent)).size * prefixTokens;
  const held = (extra: number): number =>
    running.reduce((sum, job) => sum + suffixTokens + Math.min(outputTokens, job.generated + extra), 0);
  while (waiting.length + running.length > 0) {
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      const known = running.some((job) => job.agent === head.agent);
      const promised = running.reduce((sum, job) => sum + runningShare * (outputTokens - job.generated), 0);
      const cost = suffixTokens + head.generated + newcomerShare * (outputTokens - head.generated) + (known ? 0 : prefixTokens);
      if (running.length > 0 && pinned() + held(0) + promised + cost > budgetTokens) break;
      waiting.shift();
      if (!known && resident.size > 0)
        for (const agent of resident) if (!running.some((job) => job.agent === agent)) resident.delete(agent);
      now += preset.prefillSecondsPerToken * (suffixTokens + head.generated + (resident.has(head.agent) ? 0 : prefixTokens));
      resident.add(head.agent);
      running.push(head);
    }
    while (running.length > 1 && pinned() + held(stride) > budgetTokens) waiting.unshift(running.pop()!);
    const context = running.reduce((sum, job) => sum + prefixTokens + suffixTokens + job.generated + stride / 2, 0);
    const seconds = stride * preset.stepSeconds(running.length, context);
    now += seconds;
    decodingSeconds += seconds;
    batchSeconds += seconds * running.length;
    peakBatch = Math.max(peakBatch, running.length);
    for (const job of running) job.generated += stride;
    for (let i = running.length - 1; i >= 0; i--) if (running[i]!.generated >= outputTokens) running.splice(i, 1);
  }
  return { makespanSeconds: now, meanBatch: batchSeconds / decodingSeconds, peakBatch };
}
