import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRng } from "../rng.ts";
import { predecessors, type SimTask } from "../task.ts";
import { presetNames } from "../workload/catalog.ts";
import { makeWorkload } from "../workload/make-workload.ts";
import { importAzure } from "./azure.ts";
import { importCodingSessions } from "./coding-sessions.ts";
import { importDynamo } from "./dynamo.ts";
import { exportDynamo } from "./dynamo-export.ts";
import { importMooncake } from "./mooncake.ts";
import { ImportError, linesOf } from "./rows.ts";
import { importTracelab } from "./tracelab.ts";

function failure(run: () => unknown): ImportError {
  try {
    run();
  } catch (error) {
    if (ImportError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("did not fail");
}

describe("mooncake", () => {
  const row = (timestamp: number, input: number, ids: readonly number[]): string =>
    JSON.stringify({ timestamp, input_length: input, output_length: 20, hash_ids: ids });
  const lines = [row(0, 1_200, [0, 1, 2]), row(3_000, 1_300, [0, 1, 3]), row(3_000, 700, [0, 9]), row(6_000, 500, [7])];

  it("shared leading blocks become prefixes", () => {
    const { agents, tasks, rows } = importMooncake(lines);
    expect(rows).toBe(4);
    expect(
      tasks.map(({ stages }) => [
        agents.find(({ name }) => name === stages[0]!.agent)!.prefixTokens,
        stages[0]!.rounds[0]!.promptTokens,
      ]),
    ).toEqual([
      [1_024, 176],
      [1_024, 276],
      [512, 188],
      [0, 500],
    ]);
    expect(tasks.map((task) => task.arrivalSeconds)).toEqual([0, 3, 3, 6]);
  });

  it("spreads requests of one stamp, seeded", () => {
    const spread = () =>
      importMooncake(lines, { spread: { rng: createRng(1), periodMs: 3_000 } }).tasks.map((task) => task.arrivalSeconds);
    expect(spread()).toEqual(spread());
    expect(new Set(spread()).size).toBe(4);
  });

  it("a bad row fails with line and field, or is counted", () => {
    const bad = [
      lines[0]!,
      "",
      '{"timestamp": 1, "output_length": 3}',
      "{",
      '{"timestamp": 1, "input_length": 1.5, "output_length": 3}',
    ];
    const error = failure(() => importMooncake(bad));
    expect(error).toMatchObject({
      format: "mooncake",
      line: 3,
      field: "input_length",
      message: "mooncake line 3: input_length is missing",
    });
    expect(importMooncake(bad, { skipBadRows: true })).toMatchObject({
      rows: 1,
      skippedRows: 3,
      problems: [
        expect.stringMatching(/line 3/),
        expect.stringMatching(/line 4: row is not JSON/),
        expect.stringMatching(/must be a whole number/),
      ],
    });
  });
});

describe("azure", () => {
  it("reads stamps without a clock, over midnight and a leap day", () => {
    const { tasks } = importAzure(
      linesOf(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-02-28 23:59:59.5000000,100,7\r\n2024-03-01 00:00:00.5000000,200,0\n",
      ),
    );
    expect(tasks.map((task) => task.arrivalSeconds)).toEqual([0, 86_401]);
    expect(tasks[1]!.stages[0]!.rounds[0]).toEqual({ promptTokens: 200, outputTokens: 1, toolWaitSeconds: 0 });
  });

  it("complains about header, cells and stamps", () => {
    expect(failure(() => importAzure(["TIMESTAMP,Context"]))).toMatchObject({ line: 1, field: "ContextTokens, GeneratedTokens" });
    const head = "TIMESTAMP,ContextTokens,GeneratedTokens";
    expect(failure(() => importAzure([head, "2023-11-16 18:17:03,5"]))).toMatchObject({ line: 2, field: "row" });
    expect(failure(() => importAzure([head, "yesterday,5,5"]))).toMatchObject({ line: 2, field: "TIMESTAMP" });
  });
});

describe("tracelab", () => {
  const head = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms";

  it("sessions become stages of rounds; a cut context starts a new one", () => {
    const { tasks } = importTracelab([
      head,
      "0,117,0,0,2318,200,300",
      "0,117,1,2518,348,131,154",
      "0,117,2,100,50,10,0",
      "1,50,0,0,10,5,0",
    ]);
    expect(tasks.map(({ id, arrivalSeconds }) => [id, arrivalSeconds])).toEqual([
      ["session1", 0.05],
      ["session0", 0.117],
    ]);
    expect(tasks[1]!.stages).toEqual([
      {
        id: "session",
        agent: "none",
        after: [],
        rounds: [
          { promptTokens: 2_318, outputTokens: 200, toolWaitSeconds: 0.3 },
          { promptTokens: 348, outputTokens: 131, toolWaitSeconds: 0.154 },
        ],
      },
      {
        id: "session~2",
        agent: "none",
        after: ["session"],
        rounds: [{ promptTokens: 150, outputTokens: 10, toolWaitSeconds: 0 }],
      },
    ]);
  });

  it("takes the canonical form with `id` and no arrival", () => {
    const { tasks } = importTracelab(["id,input_len,output_len,round_idx,tool_wait_after_ms,prefix_len", "x,10,5,0,0,0"]);
    expect(tasks[0]).toMatchObject({ id: "sessionx", arrivalSeconds: 0 });
  });
});

describe("coding sessions", () => {
  const session = {
    id: "s1",
    models: ["m"],
    tool_tokens: 900,
    system_tokens: 100,
    requests: [
      { t: 0, in: 2_000, out: 50, think: 0 },
      { t: 9, in: 2_300, out: 60, think: 3 },
      {
        t: 12,
        type: "subagent",
        models: ["h"],
        tool_tokens: 400,
        system_tokens: 50,
        requests: [
          { t: 0, in: 700, out: 30, think: 0 },
          { t: 4, in: 900, out: 10, think: 2 },
        ],
      },
      {
        t: 13,
        type: "subagent",
        models: ["h"],
        tool_tokens: 400,
        system_tokens: 50,
        requests: [{ t: 0, in: 500, out: 5, think: 0 }],
      },
      { t: 30, in: 2_900, out: 70, think: 4_000 },
    ],
  };

  it("forks and joins around sub-agents", () => {
    const { agents, tasks } = importCodingSessions([JSON.stringify(session)], { longestWaitSeconds: 600 });
    expect(agents).toEqual([
      { name: "main:m:1000", prefixTokens: 1_000 },
      { name: "sub:h:450", prefixTokens: 450 },
    ]);
    const [task] = tasks as [SimTask];
    expect(task.stages.map(({ id, after }) => [id, after])).toEqual([
      ["main1", []],
      ["sub2", ["main1"]],
      ["sub3", ["main1"]],
      ["main2", ["sub2", "sub3"]],
    ]);
    expect(task.stages[0]!.rounds).toEqual([
      { promptTokens: 1_000, outputTokens: 50, toolWaitSeconds: 3 },
      { promptTokens: 250, outputTokens: 60, toolWaitSeconds: 0 },
    ]);
    expect(task.stages[1]!.rounds[0]).toEqual({ promptTokens: 250, outputTokens: 30, toolWaitSeconds: 2 });
    expect(task.stages[3]!.rounds[0]!.promptTokens).toBe(1_900);
  });

  it("names the field of a session without requests", () => {
    expect(failure(() => importCodingSessions([JSON.stringify({ ...session, requests: [] })]))).toMatchObject({
      line: 1,
      field: "requests",
    });
    expect(failure(() => importCodingSessions([JSON.stringify({ ...session, tool_tokens: "x" })]))).toMatchObject({
      field: "tool_tokens",
      message: expect.stringMatching(/is not a number/),
    });
  });
});

/** Longest of the waits before each stage, per stage: what the format keeps. */
const edges = (task: SimTask) => {
  const before = predecessors(task);
  return new Set(task.stages.flatMap(({ id }) => before.get(id)!.map((from) => `${from}>${id}`)));
};

describe("agentic mooncake", () => {
  it.each(presetNames().filter((name) => !name.startsWith("topas-table1")))("%s survives export and import", (name) => {
    const { agents, tasks } = makeWorkload(name, { seed: 2, tasks: 6 });
    const lines = [...exportDynamo(agents, tasks)];
    const back = importDynamo(lines);
    const used = new Set(tasks.flatMap(({ stages }) => stages.map(({ agent }) => agent)));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(back.agents.toSorted(byName)).toEqual(agents.filter((agent) => used.has(agent.name)).toSorted(byName));
    back.tasks.forEach((task, i) => {
      const own = tasks[i]!;
      expect({ id: task.id, stages: task.stages.map(({ id, agent }) => [id, agent]), edges: edges(task) }).toEqual({
        id: own.id,
        stages: own.stages.map(({ id, agent }) => [id, agent]),
        edges: edges(own),
      });
      const numbers = (of: SimTask) =>
        of.stages.flatMap(({ rounds }) =>
          rounds.flatMap((round) => [round.promptTokens, round.outputTokens, round.maxTokens!, round.toolWaitSeconds]),
        );
      numbers(task).forEach((value, k) => expect(value).toBeCloseTo(numbers(own)[k]!, 6));
      expect(task.arrivalSeconds).toBeCloseTo(own.arrivalSeconds, 6);
    });
  });

  it("without our member: dependencies, waits and lengths stay, prefixes to a block", () => {
    const made = makeWorkload("paper-tl-full", { seed: 2, tasks: 5 });
    const lines = [...exportDynamo(made.agents, made.tasks, { extension: false })];
    const back = importDynamo(lines);
    expect(lines[0]).not.toContain("topas");
    const calls = (tasks: readonly SimTask[]) => tasks.map(({ stages }) => stages.map(({ rounds }) => rounds.length));
    expect(calls(back.tasks)).toEqual(calls(made.tasks));
    const waits = (tasks: readonly SimTask[]) =>
      tasks.flatMap(({ stages }) => stages.flatMap(({ rounds }) => rounds.map((round) => round.toolWaitSeconds)));
    waits(back.tasks).forEach((wait, i) => expect(wait).toBeCloseTo(waits(made.tasks)[i]!, 6));
    expect(new Set(back.agents.map((agent) => agent.prefixTokens))).toEqual(
      new Set(made.agents.map((agent) => Math.floor(agent.prefixTokens / 64) * 64)),
    );
  });

  it("bad links and a header row", () => {
    const row = { request_id: "a", input_length: 10, output_length: 2, wait_for: [], branches: [], tool_events: [] };
    expect(failure(() => importDynamo([JSON.stringify({ ...row, wait_for: ["b"] })]))).toMatchObject({
      field: "wait_for",
      line: 1,
    });
    expect(failure(() => importDynamo([JSON.stringify(row), JSON.stringify(row)]))).toMatchObject({
      field: "request_id",
      line: 2,
    });
    expect(importDynamo([JSON.stringify({ schema: "agentic", version: 2 }), JSON.stringify(row)]).notes.join()).toMatch(
      /header row/,
    );
    const circle = [JSON.stringify({ ...row, wait_for: ["b"] }), JSON.stringify({ ...row, request_id: "b", wait_for: ["a"] })];
    expect(() => importDynamo(circle)).toThrow(/waits for itself/);
  });

  it("rows in any order give the same tasks", () => {
    const { agents, tasks } = makeWorkload("dag-4", { seed: 2, tasks: 3 });
    const lines = [...exportDynamo(agents, tasks)];
    fc.assert(
      fc.property(fc.shuffledSubarray(lines, { minLength: lines.length }), (shuffled) => {
        const back = importDynamo(shuffled);
        expect(new Map(back.tasks.map((task) => [task.id, edges(task)]))).toEqual(
          new Map(tasks.map((task) => [task.id, edges(task)])),
        );
      }),
      { numRuns: 20, seed: 5 },
    );
  });
});
