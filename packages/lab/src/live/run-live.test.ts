import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ScriptedEngine } from "@topas/engines";
import type { SimTask } from "@topas/sim";
import { afterAll, describe, expect, it } from "vitest";
import { liveArms, type LiveExperiment } from "../presets/live.ts";
import { readResults } from "../results/file.ts";
import { openCellStore } from "../run/resume.ts";
import { runLiveExperiment, type LiveExperimentOptions } from "./live-experiment.ts";
import type { LiveFacts } from "./live-manifest.ts";
import { planLive } from "./live-cell.ts";
import { plainWorkload } from "./plain-workload.ts";
import { checkLive, Interrupted } from "./run-live.ts";
import { readShapes } from "./shapes.ts";

const chain = (jobs: number, seed: number): SimTask[] =>
  Array.from({ length: jobs }, (_, i) => ({
    id: `t${i}`,
    arrivalSeconds: 0.004 * i,
    workflow: "w",
    graph: {
      stages: [
        { id: "plan", agent: "p" },
        { id: "work", agent: "q" },
      ],
      edges: [["plan", "work"]],
    },
    stages: [
      { id: "plan", agent: "p", rounds: [{ promptTokens: 20, outputTokens: 3 + seed, maxTokens: 30, toolWaitSeconds: 0 }] },
      {
        id: "work",
        agent: "q",
        rounds: [
          { promptTokens: 20, outputTokens: 4, maxTokens: 30, toolWaitSeconds: 0 },
          { promptTokens: 10, outputTokens: 6, maxTokens: 30, toolWaitSeconds: 0 },
        ],
      },
    ],
  }));

const AGENTS = [
  { name: "p", prefixTokens: 60 },
  { name: "q", prefixTokens: 90 },
];

const TINY: LiveExperiment = {
  name: "tiny",
  title: "Tiny",
  minutes: 0,
  seeds: 2,
  model: "nano1m",
  kvTokens: 1_024,
  hostTierMib: 64,
  workloads: {
    w: ({ seed, jobs }) => Promise.resolve(plainWorkload("w", { agents: AGENTS, tasks: chain(jobs, seed) }, ["made for a test"])),
  },
  rows: [
    { table: "t", workload: "w", arrival: "poisson", load: 0.8, jobs: 4 },
    {
      table: "t",
      workload: "w",
      arrival: "burst",
      load: 0.5,
      jobs: 3,
      arms: ["passthrough", "kv-index-safe"],
      beside: { chats: 2, backgrounds: 1, chat: [0, 30, 8], background: [40, 30, 20] },
    },
  ],
  arms: ["passthrough", "task-fcfs-o", "kv-index-safe"],
  capacityJobs: 3,
  limitSeconds: 20,
  questions: [],
  notes: [],
  quick: {},
};

const out = mkdtempSync(join(tmpdir(), "topas-live-test-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

let opened = 0;
const options = (rest: Partial<LiveExperimentOptions>): LiveExperimentOptions => ({
  experiment: TINY,
  seeds: 2,
  model: "scripted",
  threads: 1,
  openEngine: ({ kvTokens }) => {
    opened += 1;
    return Promise.resolve(new ScriptedEngine({ stepMs: 0, kvTokens }));
  },
  calibrate: { none: "no cost model of a scripted engine" },
  out,
  signal: new AbortController().signal,
  command: "test",
  code: "this",
  ...rest,
});

describe("a live experiment", () => {
  it("seeds outermost, then settings, then policies, each seed beginning with the next one", () => {
    const { cells, capacities, capacityOf } = planLive(TINY, liveArms(), [1, 2], "m");
    expect(cells.map(({ seed, row, arm }) => `${seed} ${row.arrival} ${arm.name}`)).toEqual([
      "1 poisson passthrough",
      "1 poisson task-fcfs-o",
      "1 poisson kv-index-safe",
      "1 burst passthrough",
      "1 burst kv-index-safe",
      "2 poisson task-fcfs-o",
      "2 poisson kv-index-safe",
      "2 poisson passthrough",
      "2 burst kv-index-safe",
      "2 burst passthrough",
    ]);
    expect(capacities).toHaveLength(1);
    expect(cells.every((cell) => capacityOf(cell) === capacities[0])).toBe(true);
    expect(() => planLive({ ...TINY, arms: ["nobody"] }, liveArms(), [1], "m")).toThrow(/unknown arm nobody/);
  });

  it("stopped, it keeps what is done and goes on from there; a cell that fails is a row with its error", async () => {
    const stop = new AbortController();
    let cells = 0;
    const write = (text: string): void => {
      if (text.includes("kv-index-safe seed 1") && (cells += 1) === 1) stop.abort();
    };
    await expect(runLiveExperiment(options({ signal: stop.signal, write }))).rejects.toThrow(Interrupted);
    const kept = openCellStore(join(out, "cells.jsonl"), "this").size;
    expect(kept).toBe(4);
    opened = 0;
    const broken = (choice: { kvTokens: number }): ReturnType<LiveExperimentOptions["openEngine"]> => {
      opened += 1;
      if (opened === 2) return Promise.reject(new Error("the engine is out"));
      return Promise.resolve(new ScriptedEngine({ stepMs: 0, kvTokens: choice.kvTokens }));
    };
    const results = await runLiveExperiment(options({ openEngine: broken }));
    expect(opened).toBe(1 + 10 - kept);
    const failed = results.runs.filter(({ error }) => error !== null);
    expect(failed).toMatchObject([{ error: "the engine is out", metrics: { successRate: 0, jctMeanS: null } }]);
    opened = 0;
    const again = await runLiveExperiment(options({}));
    expect(opened).toBe(1);
    expect(again.runs.every(({ error, metrics }) => error === null && metrics.successRate === 1)).toBe(true);
    expect(readResults(join(out, "results.json"))).toEqual(again);
    expect(again.evidence).toBe("real-cpu");
    expect(new Set(again.runs.map(({ workload }) => workload))).toEqual(new Set(["w", "chat beside w", "background beside w"]));
    expect(again.runs).toHaveLength(2 * (3 + 2 * 3));
    const { workloads } = again.manifest as unknown as LiveFacts;
    const prefixes = new Map(
      readShapes(join(out, "shapes")).flatMap(({ agents }) => agents.map(({ name, prefixTokens }) => [name, prefixTokens])),
    );
    const own = [...prefixes].filter(([name]) => !/chat|background/.test(name));
    expect(own.length).toBe(prefixes.size - 2);
    expect(workloads[0]!.prefixTokens).toBe(own.reduce((sum, [, tokens]) => sum + tokens, 0));
    expect(again.overhead.policies!["kv-index-safe"]!.decisionP50Us).toBeGreaterThan(0);
  }, 30_000);

  it("records the shapes it played: true lengths, prefixes, edges and what the policy was told", () => {
    const shape = readShapes(join(out, "shapes")).find(({ seed, arrival }) => seed === 2 && arrival === "poisson")!;
    expect(shape.tasks).toHaveLength(4);
    const [task] = shape.tasks;
    expect(task!.stages.map(({ id, after, rounds }) => [id, after, rounds.map(({ outputTokens }) => outputTokens)])).toEqual([
      ["plan", [], [5]],
      ["work", ["plan"], [4, 6]],
    ]);
    expect(task!.graph!.edges).toEqual([["plan", "work"]]);
    expect(shape.agents).toHaveLength(2);
  });

  it("cells that saw other jobs are refused", () => {
    const { cells } = planLive(TINY, liveArms(), [1], "m");
    const outcome = (i: number, inputs: string) => ({ cell: cells[i]!, error: null, result: { inputs } as never });
    expect(() => checkLive([outcome(0, "a"), outcome(1, "a"), outcome(3, "b")])).not.toThrow();
    expect(() => checkLive([outcome(0, "a"), outcome(1, "b")])).toThrow(/not matched: task-fcfs-o/);
  });
});
