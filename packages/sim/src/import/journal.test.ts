import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runLogOfJournal } from "../metrics/from-journal.ts";
import { measure } from "../metrics/metrics.ts";
import { readJournal, type JournalCall } from "./journal.ts";
import { importJournal } from "./journal-tasks.ts";
import { ImportError } from "./rows.ts";

const call = (stage: string, arrivalMs: number, endMs: number, more: Partial<JournalCall> = {}): string =>
  JSON.stringify({
    spec: "topas.journal/1",
    kind: "call",
    id: `${stage}@${arrivalMs}`,
    tenant: "t",
    task: "job",
    stage,
    agent: stage,
    prefixId: `p-${stage}`,
    prefixTokens: 100,
    promptTokens: 150,
    cachedTokens: 100,
    outputTokens: 20,
    arrivalMs,
    queueMs: 5,
    ttftMs: 30,
    endMs,
    outcome: "done",
    ...more,
  });

/** Lead, then two in parallel (one with two rounds), then the lead again. */
const hub = [
  JSON.stringify({ spec: "topas.journal/1", kind: "header", budgetTokens: 20_000 }),
  call("lead", 1_000, 500),
  call("code", 1_600, 400),
  call("code", 2_500, 300, { promptTokens: 190 }),
  call("read", 1_600, 600),
  call("lead", 3_000, 200, { promptTokens: 220 }),
];

describe("journal", () => {
  it("infers rounds, visits, order and waits", () => {
    const { tasks, agents } = importJournal(hub);
    expect(agents.map((agent) => agent.prefixTokens)).toEqual([100, 100, 100]);
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).toMatchObject({ id: "t/job", tenant: "t", arrivalSeconds: 0 });
    expect(
      tasks[0]!.stages.map(({ id, after, rounds }) => [
        id,
        after,
        rounds.map((round) => [round.promptTokens, round.toolWaitSeconds]),
      ]),
    ).toEqual([
      ["lead", [], [[50, 0.1]]],
      [
        "code",
        ["lead"],
        [
          [50, 0.5],
          [20, 0.2],
        ],
      ],
      ["read", ["lead"], [[50, 0]]],
      ["lead~2", ["code", "read"], [[120, 0]]],
    ]);
  });

  it("declared predecessors win over inferred ones", () => {
    const { tasks } = importJournal([call("a", 0, 10), call("b", 20, 10), call("c", 40, 10, { after: ["a"] })]);
    expect(tasks[0]!.stages[2]!.after).toEqual(["a"]);
  });

  it("refused calls are left out and counted", () => {
    expect(importJournal([call("a", 0, 10), call("b", 20, 1, { outcome: "refused", outputTokens: 0 })])).toMatchObject({
      rows: 1,
      skippedRows: 1,
    });
  });

  it("bad lines name the field", () => {
    const bad = (more: object): string => JSON.stringify({ ...(JSON.parse(call("a", 0, 1)) as object), ...more });
    const messageOf = (line: string): string => {
      try {
        readJournal([line]);
      } catch (error) {
        return ImportError.isInstance(error) ? error.message : String(error);
      }
      return "";
    };
    expect(messageOf(bad({ outcome: "maybe" }))).toBe(
      'journal line 1: outcome is "maybe", must be one of done, cancelled, failed, refused',
    );
    expect(messageOf(bad({ spec: "topas.journal/2" }))).toMatch(/spec is "topas.journal\/2"/);
    expect(messageOf(bad({ prefixTokens: 999 }))).toMatch(/prefixTokens is 999, more than promptTokens 150/);
    expect(messageOf(bad({ task: null }))).toMatch(/task is missing/);
  });

  it("is a run log too: metrics of what really happened", () => {
    const { rows } = readJournal([...hub, call("x", 4_000, 100, { task: "other", outcome: "failed" })]);
    const found = measure(runLogOfJournal(rows, { budgetTokens: 20_000, devices: 1 }));
    expect(found).toMatchObject({ tasks: 2, successRate: 0.5, backlogTasks: 0, prefixHitRate: 1 });
    expect(found.jctMeanS).toBeCloseTo(2.2, 9);
    expect(found.ttftMeanS).toBeCloseTo(0.03, 9);
  });

  it("docs/journal.md: its example is readable and its table names every member", () => {
    const page = readFileSync(new URL("../../../../docs/journal.md", import.meta.url), "utf8");
    const { rows } = readJournal([/```json\n(.*)\n```/.exec(page)![1]!]);
    const named = new Set([...page.matchAll(/^\| (`.*?`) \|/gm)].flatMap((row) => row[1]!.match(/\w+/g)!));
    expect(Object.keys(rows[0]!).filter((member) => !named.has(member))).toEqual([]);
  });
});
