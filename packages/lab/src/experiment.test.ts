import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runExperiment } from "./experiment.ts";
import { atCapacity, planGrids } from "./grid/grid.ts";
import { allArms } from "./grid/references.ts";
import { experiments } from "./presets/catalog.ts";
import type { Experiment } from "./presets/preset.ts";
import { terminalReport } from "./report/terminal.ts";
import { readResults, resultsSchema } from "./results/file.ts";
import type { Results } from "./results/schema.ts";
import { checkMatched } from "./run/matched.ts";
import { runCells } from "./run/pool.ts";
import { openCellStore } from "./run/resume.ts";

const TINY: Experiment = {
  name: "tiny",
  title: "Tiny <test>",
  minutes: 0,
  seeds: 2,
  capacityTasks: 20,
  grids: [
    {
      table: "t",
      workloads: ["paper-chain3"],
      loads: [0.5, 0.9],
      arms: ["sglang-lpm", "lpm", "task-fcfs-o", "kv-index-safe"],
      tasks: 24,
      warmupTasks: 6,
    },
  ],
  questions: [
    {
      test: "q",
      question: "faster?",
      tables: ["t"],
      policies: ["kv-index-safe"],
      baselines: ["lpm"],
      metrics: ["jctMeanS"],
      rule: { kind: "compare" },
    },
  ],
  timed: ["kv-index-safe"],
};

const arms = allArms();
let out = "";
let results: Results;
beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), "topas-lab-"));
  results = await runExperiment({ preset: TINY, out, workers: 0, code: "this" });
}, 60_000);
afterAll(() => rmSync(out, { recursive: true, force: true }));

describe("an experiment", () => {
  it("writes a valid results file, a manifest and both reports", () => {
    expect(readResults(join(out, "results.json"))).toEqual(results);
    const validate = new Ajv2020({ strict: false }).compile(resultsSchema() as object);
    expect(validate(JSON.parse(readFileSync(join(out, "results.json"), "utf8"))) || validate.errors).toBe(true);
    expect(results.manifest.git.commit === null || /^[0-9a-f]{40}$/.test(results.manifest.git.commit)).toBe(true);
    expect(results.runs).toHaveLength(2 * 2 * 4);
    expect(results.gate!.decision).not.toBe("promote");
  });

  it("has a share of contended decisions beside every comparison, and the metrics of the issue in every run", () => {
    expect(results.comparisons.length).toBeGreaterThan(0);
    for (const row of results.comparisons) expect(row.contendedShare).toBeGreaterThanOrEqual(0);
    const names =
      "jctMeanS jctP95S jctP99S ttftMeanS ttftP99S itlMeanMs throughputReqS goodputTaskS prefixHitRate prefixMovedBytes prefixMoveS preemptions redoneTokens kvOccupancy pinnedShare batchMean waitMaxS starved overtakesMax slowdownP99 successRate gpuHours energyJ";
    for (const { metrics } of results.runs)
      for (const name of names.split(" "))
        expect([name, metrics[name as keyof typeof metrics]]).toEqual([name, expect.any(Number)]);
  });

  it("draws a report that needs no other file: losses first, figures with their data, evidence labelled", () => {
    const html = readFileSync(join(out, "report.html"), "utf8");
    expect(html.match(/<svg/g)!.length).toBe(
      html.match(/<script type="application\/json" id="(?:figure|answer)-[^"]+-data"/g)!.length,
    );
    expect(html).not.toMatch(/(src|href)=/);
    expect(html).toContain("Tiny &lt;test&gt;");
    expect(html.indexOf("Where the joint policies lose")).toBeLessThan(html.indexOf("Gate for"));
    expect(html).toContain("simulated (calibrated against published measurements)");
    for (const [, data] of html.matchAll(/-data">(.*?)<\/script>/g)) expect(() => JSON.parse(data!) as unknown).not.toThrow();
    const markdown = readFileSync(join(out, "REPORT.md"), "utf8");
    expect(markdown.indexOf("Where the joint policies lose")).toBeLessThan(markdown.indexOf("Questions and verdicts"));
    expect(terminalReport(results)).toContain("paper-chain3, load 0.50");
  });

  it("goes on from finished cells, and gives the same figures", async () => {
    const lines = readFileSync(join(out, "cells.jsonl"), "utf8").trimEnd().split("\n");
    const half = [...lines.slice(0, Math.floor(lines.length / 2)), lines.at(-1)!.slice(0, 40)];
    writeFileSync(join(out, "cells.jsonl"), half.join("\n"));
    let said = "";
    const again = await runExperiment({ preset: TINY, out, workers: 0, code: "this", write: (text) => (said += text) });
    expect(said).toContain("cells of an earlier run");
    expect(said).toContain("left");
    expect(again.runs).toEqual(results.runs);
    expect(again.comparisons).toEqual(results.comparisons);
  });

  it("does not take over the cells of other code", () => {
    const path = join(out, "other.jsonl");
    const store = openCellStore(path, "a");
    store.put("k", {
      metrics: results.runs[0]!.metrics,
      inputs: "i",
      trend: { rise: 0, inSystem: 0 },
      error: null,
      tasksPerSecond: 1,
    });
    expect(openCellStore(path, "a").size).toBe(1);
    expect(openCellStore(path, "b").size).toBe(0);
  });
});

it("cells give the same bytes whatever the number of workers", async () => {
  const plan = planGrids([{ ...TINY.grids[0]!, loads: [0.8], tasks: 10 }], arms, [1], 10);
  const cells = plan.cells.map((planned) => atCapacity(planned, 0.19));
  const alone = await runCells(cells, { workers: 0 });
  for (const workers of [1, 2]) expect(JSON.stringify(await runCells(cells, { workers }))).toBe(JSON.stringify(alone));
}, 60_000);

it("rows that saw other tasks are refused", () => {
  const plan = planGrids(TINY.grids, arms, [1], 10);
  const cells = plan.cells.slice(0, 2).map((planned) => atCapacity(planned, 0.19));
  expect(() => checkMatched(cells, [{ inputs: "a" }, { inputs: "a" }])).not.toThrow();
  expect(() => checkMatched(cells, [{ inputs: "a" }, { inputs: "b" }])).toThrow(/not matched/);
});

describe("presets", () => {
  it.each(experiments().map((each) => [each.name, each] as const))(
    "%s plans, and its questions name what runs",
    (_, experiment) => {
      const { cells } = planGrids(experiment.grids, arms, [1], experiment.capacityTasks);
      expect(cells.length).toBeGreaterThan(10);
      for (const question of experiment.questions) {
        const asked = (table: string): boolean => question.tables.length === 0 || question.tables.includes(table);
        const mine = cells.filter(({ table, also }) => [table, ...also].some(asked)).map(({ cell }) => cell.arm.name);
        for (const name of [...question.policies, ...question.baselines]) expect(mine).toContain(name);
      }
      for (const name of experiment.timed) expect(cells.map(({ cell }) => cell.arm.name)).toContain(name);
    },
  );
});
