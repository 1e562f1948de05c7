import { Command } from "commander";
import { describe, expect, it, vi } from "vitest";
import { simCommand, validationTable } from "./sim.ts";

async function run(...flags: string[]): Promise<string> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const program = new Command();
  simCommand(program);
  await program.parseAsync(["node", "topas", "sim", ...flags]);
  log.mockRestore();
  return lines.join("\n");
}

const json = async (...flags: string[]): Promise<Record<string, unknown>> =>
  JSON.parse(await run(...flags, "--json")) as Record<string, unknown>;

it("toy: Fig. 2 of the paper", async () => {
  expect(await json("toy")).toMatchObject({ srptMeanS: 21.5, lpmMeanS: 24 });
  expect(await run("toy")).toContain("mean 21.5 (paper 21.5)");
});

it("table1: three sizes beside the paper", async () => {
  const { rows } = await json("table1");
  for (const n of [100, 150, 200])
    expect(rows).toContainEqual(
      expect.objectContaining({
        n,
        makespanGroupedS: expect.any(Number),
        makespanAlternatingS: expect.any(Number),
        ratio: expect.any(Number),
        paperRatio: expect.any(Number),
      }),
    );
});

describe("run", () => {
  const flags = ["run", "--workload", "dag-4", "--tasks", "12", "--load", "0.8", "--seed", "1"];

  it("twice is the same, wall time apart", async () => {
    const [one, two] = [await json(...flags), await json(...flags)];
    expect(one["wallSeconds"]).toBeGreaterThan(0);
    expect({ ...one, wallSeconds: 0 }).toEqual({ ...two, wallSeconds: 0 });
    expect(one).toMatchObject({ evidence: "simulated", workload: "dag-4", policy: "topas", stopped: false });
    const { energyJ, pinnedShare, contendedShare, prefixMoveS, decisionMeanUs } = one["metrics"] as Record<string, unknown>;
    for (const value of [energyJ, pinnedShare, contendedShare, prefixMoveS]) expect(value).toEqual(expect.any(Number));
    expect(decisionMeanUs).toBeNull();
  });

  it("says what it is", async () => {
    expect(await run(...flags, "--rules", "vllm-0.11", "--policy", "passthrough")).toContain("simulated (calibrated");
    await expect(run("run", "--workload", "nothing")).rejects.toThrow("nothing");
  });
});

it("validate --json: one row for each figure compared", { timeout: 30_000 }, async () => {
  const { rows } = (await json("validate")) as { rows: Record<string, unknown>[] };
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) {
    expect(Object.keys(row)).toEqual(["case", "metric", "measured", "simulated", "errorPct", "tolerancePct", "pass"]);
    expect(row["pass"]).toBe(
      row["tolerancePct"] === null ? null : Math.abs(Number(row["errorPct"])) <= Number(row["tolerancePct"]),
    );
  }
});

it("workloads: every preset with its prefixes", async () => {
  const { rows } = await json("workloads");
  expect(rows).toContainEqual(expect.objectContaining({ name: "dag-4", prefixSumTokens: expect.any(Number) }));
});

it("validation rows: a miss is printed as a miss, a hold-out is not judged", () => {
  const row = { metric: "m", measured: 100, simulated: 120, errorPct: 20 };
  const text = validationTable([
    { case: "near", ...row, tolerancePct: 25, pass: true },
    { case: "far", ...row, tolerancePct: 5, pass: false },
    { case: "other", ...row, tolerancePct: null, pass: null },
  ]);
  expect(text).toMatch(/far .*MISS/);
  expect(text).toContain("1 of 2 within their bar, 1 hold-outs printed");
});
