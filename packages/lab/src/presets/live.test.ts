import { describe, expect, it } from "vitest";
import { planLive } from "../live/live-cell.ts";
import { findExperiment } from "./catalog.ts";
import { recordedExperiment } from "./live-catalog.ts";
import { liveFromSimulated, LIVE_PRESETS, TOKEN_SCALE } from "./live-simulated.ts";
import { liveArms, notLive } from "./live.ts";

describe("presets of the simulator on a live engine", () => {
  it.each(LIVE_PRESETS)("%s plans with what a gateway can run, and says what it leaves out", async (name) => {
    const experiment = liveFromSimulated(findExperiment(name));
    const { cells } = planLive(experiment, liveArms(), [1], "m");
    expect(cells.every(({ arm }) => notLive(arm) === null)).toBe(true);
    expect(new Set(cells.map(({ arm }) => arm.condition)).size).toBe(4);
    expect(experiment.notes.join("\n")).toMatch(/row sglang-lpm is left out: it is the scheduler of another engine/);
    for (const { workload, kvTokens } of cells) {
      const made = await experiment.workloads[workload]!({ seed: 1, jobs: 3, arrival: "poisson", ratePerSecond: 2 });
      const again = await experiment.workloads[workload]!({ seed: 1, jobs: 3, arrival: "poisson", ratePerSecond: 2 });
      expect(again.inputs).toBe(made.inputs);
      expect(made.jobs).toHaveLength(3);
      expect(kvTokens).toBeLessThanOrEqual(40_000 / TOKEN_SCALE);
      const other = await experiment.workloads[workload]!({ seed: 2, jobs: 3, arrival: "poisson", ratePerSecond: 2 });
      expect(other.inputs).not.toBe(made.inputs);
    }
  });

  it("what varies more than a live engine can says which presets do not", () =>
    expect(() => liveFromSimulated(findExperiment("falsify"))).toThrow(/--engine sim, or one of quick, matched/));
});

it("the ruflo preset plans: four conditions, every row at its load, the quick form within it", () => {
  const experiment = recordedExperiment("ruflo");
  const { cells } = planLive(experiment, liveArms(), [1, 2, 3, 4, 5], "m");
  expect(new Set(cells.map(({ arm }) => arm.condition))).toEqual(new Set(["A", "B", "C", "D"]));
  expect(new Set(cells.map(({ workload }) => workload)).size).toBe(4);
  expect(new Set(cells.map(({ row }) => `${row.arrival} ${row.load}`))).toEqual(
    new Set(["poisson 0.8", "burst 0.8", "poisson 0.2"]),
  );
  for (const row of experiment.quick.rows!) expect(experiment.rows).toContainEqual(row);
  for (const { policies, baselines } of experiment.questions)
    for (const name of [...policies, ...baselines]) expect(experiment.arms).toContain(name);
  expect(() => recordedExperiment("quick")).toThrow(/records nothing/);
});
