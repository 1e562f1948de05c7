import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulate, type CpuStep, type JournalCall, type SimTask } from "@topas/sim";
import { afterAll, describe, expect, it } from "vitest";
import { liveArms, type LiveExperiment } from "../presets/live.ts";
import { readProfile } from "../profile.ts";
import type { LiveCell } from "./live-cell.ts";
import { meanTaskSeconds, predictions, twinConfig } from "./predict.ts";
import { replayShapes } from "./replay-shapes.ts";
import type { LiveOutcome } from "./run-live.ts";
import { readShapes, shapeOf, writeShape, writeShapesProfile, type Shape } from "./shapes.ts";

const profile = readProfile("qwen2.5-32b-a100");
const arms = liveArms();
const ARMS = ["passthrough", "task-fcfs-o", "kv-index-safe"];

const task = (i: number): SimTask & { class: "workflow" | "chat" } => ({
  id: `t${i}`,
  class: i === 5 ? "chat" : "workflow",
  arrivalSeconds: 0.3 * i,
  workflow: "w",
  graph: { stages: ["a", "b"].map((id) => ({ id, agent: id })), edges: [["a", "b"]] },
  stages: ["a", "b"].map((id) => ({
    id,
    agent: id,
    rounds: [{ promptTokens: 60, outputTokens: 40 + 10 * i, maxTokens: 120, toolWaitSeconds: 0.1 }],
  })),
});

const SHAPE: Shape = {
  schema: "topas.shapes/1",
  workload: "w",
  table: "t",
  arrival: "poisson",
  load: 0.8,
  ratePerSecond: 3,
  seed: 1,
  budgetTokens: 1_100,
  hostTierMib: 64,
  orchestrator: "test",
  recordedUnder: "passthrough",
  agents: ["a", "b"].map((name) => ({ name, prefixTokens: 400 })),
  tasks: [0, 1, 2, 3, 4, 5].map(task),
};

const cell = (name: string): LiveCell => ({
  row: { table: "t", workload: "w", arrival: "poisson", load: 0.8, jobs: 6 },
  workload: "w",
  arm: arms.get(name)!,
  seed: 1,
  kvTokens: 1_100,
  hostTierMib: 64,
  model: "m",
  ratePerSecond: 3,
});

const measured = (name: string, spanMeanS: number, counters: Record<string, number> = {}): LiveOutcome => ({
  cell: cell(name),
  error: null,
  result: { spanMeanS, counters } as unknown as NonNullable<LiveOutcome["result"]>,
});

const folder = mkdtempSync(join(tmpdir(), "topas-shapes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("predicted and measured", () => {
  const twins = ARMS.map((name) => meanTaskSeconds(SHAPE, simulate(twinConfig(SHAPE, arms.get(name)!, profile))));

  it("measured as simulated: no error, the same order; the other way round: the opposite one", () => {
    const right = predictions(
      ARMS.map((name, i) => measured(name, twins[i]!)),
      [SHAPE],
      () => [profile, profile],
    );
    expect(right.map(({ policy }) => policy)).toEqual(ARMS);
    for (const { errorPercent, kendallTau } of right) {
      expect(errorPercent).toBeCloseTo(0, 9);
      expect(kendallTau).toBeCloseTo(1, 9);
    }
    const wrong = predictions(
      ARMS.map((name, i) => measured(name, 1 / twins[i]!)),
      [SHAPE],
      () => [profile],
    );
    expect(wrong[0]!.kendallTau).toBeCloseTo(-1, 9);
    expect(wrong[0]!.errorPercent).toBeCloseTo(100 * (twins[0]! ** 2 - 1), 6);
  });

  it("a machine that was half as fast is no error of the scheduling", () => {
    const cpu = readProfile("tiny5m-cpu");
    const step = cpu.step as CpuStep;
    const half: CpuStep = {
      ...step,
      decodeMs: step.decodeMs.map(([sequences, ms]) => [sequences, 2 * ms] as const),
      decodeMicrosPerContextToken: 2 * step.decodeMicrosPerContextToken,
      residencyMicrosPerSequenceToken: 2 * step.residencyMicrosPerSequenceToken,
      prefillMsPerStep: 2 * (step.prefillMsPerStep ?? 0),
      prefillMsPerToken: 2 * step.prefillMsPerToken,
      prefillMsPerTokenSquared: 2 * step.prefillMsPerTokenSquared,
      residencyMicrosPerPrefillToken: 2 * step.residencyMicrosPerPrefillToken,
      hostMs: 2 * step.hostMs,
    };
    const dense = { ...SHAPE, tasks: SHAPE.tasks.map((each) => ({ ...each, arrivalSeconds: each.arrivalSeconds / 100 })) };
    const slow = simulate(twinConfig(dense, arms.get("fcfs")!, { ...cpu, step: half }));
    const seen = measured("fcfs", meanTaskSeconds(dense, slow), { step_seconds_total: slow.recorder.busySeconds });
    const [row] = predictions([seen], [dense], () => [cpu]);
    expect(row!.errorPercent).toBeLessThan(-20);
    expect(Math.abs(row!.atSpeedErrorPercent!)).toBeLessThan(5);
  });

  it("needs a shape of the same setting, seed and rate, a profile, and a measurement", () => {
    const outcomes = [measured("passthrough", 1)];
    expect(predictions(outcomes, [{ ...SHAPE, ratePerSecond: 4 }], () => [profile])).toEqual([]);
    expect(predictions(outcomes, [SHAPE], () => [])).toEqual([]);
    expect(predictions([{ ...outcomes[0]!, result: null, error: "x" }], [SHAPE], () => [profile])).toEqual([]);
  });

  it("a shape survives its file, and is replayed under the rows of its setting on any machine", () => {
    const experiment = { name: "x", title: "X", rows: [cell("passthrough").row], arms: ARMS, questions: [] };
    const options = {
      experiment: experiment as unknown as LiveExperiment,
      shapes: folder,
      out: join(folder, "out"),
      command: "c",
    };
    expect(() => replayShapes(options)).toThrow(/no recorded shapes.*--engine llama/);
    writeShape(folder, SHAPE);
    writeShapesProfile(folder, 1, profile);
    expect(readShapes(folder)).toEqual([SHAPE]);
    const { evidence, runs } = replayShapes(options);
    expect(evidence).toBe("simulated");
    expect(runs.map(({ workload, policy }) => `${workload} ${policy}`)).toEqual(
      ARMS.flatMap((name) => [`w ${name}`, `chat beside w ${name}`]),
    );
    expect(runs[0]!.metrics).toMatchObject({ tasks: 5, successRate: 1, jctMeanS: expect.closeTo(twins[0]!, 9) as number });
  });
});

it("Ruflo's engines wait for whole levels: the order of their stages is taken from the times", () => {
  let made = 0;
  const call = (stage: string, after: readonly string[], arrivalMs: number, endMs: number): JournalCall => ({
    spec: "topas.journal/1",
    kind: "call",
    id: `c${(made += 1)}`,
    tenant: "default",
    task: "7:default,1:x,",
    stage,
    agent: stage,
    workflow: null,
    after,
    prefixId: `p-${stage}`,
    prefixTokens: 50,
    promptTokens: 80,
    cachedTokens: 0,
    outputTokens: 10,
    maxTokens: 20,
    arrivalMs,
    queueMs: 0,
    ttftMs: 5,
    endMs,
    outcome: "done",
    session: null,
    preemptions: 0,
    redoneTokens: 0,
  });
  const calls = [call("a", [], 0, 100), call("b", [], 0, 300), call("c", ["a"], 310, 100)];
  const jobs = [{ id: "job", class: "workflow", arrivalSeconds: 0, calls: 3 }] as const;
  const recorded = { calls, jobs, jobOf: () => "job", graphs: new Map() };
  const after = (orchestrator: string) => shapeOf(cell("passthrough"), recorded, orchestrator).tasks[0]!.stages[2]!.after;
  expect(after("ruflo-v2-engine, model call replaced")).toEqual(["a", "b"]);
  expect(after("official client")).toEqual(["a"]);
});
