import { createPolicy, policyIds } from "@topas/core";
import { describe, expect, it } from "vitest";
import { createRng } from "../rng.ts";
import { corePolicy } from "./core-policy.ts";
import { bestMeanJct } from "./optimum.ts";
import { tryInstances } from "./search.ts";
import { tinyInstance } from "./tiny-instance.ts";
import { runUnit } from "./unit-run.ts";

const instances = [101, 103, 105, 109, 110].map((seed) => tinyInstance(createRng(seed)));
const bests = instances.map((each) => bestMeanJct(each).meanJct);

/** Sends everything to the engine's own queue, which this engine does not have. */
const skipped = ["passthrough"];

describe("no policy beats the best schedule", () => {
  it.each(policyIds().filter((id) => !skipped.includes(id)))("%s", (id) => {
    for (const [i, each] of instances.entries())
      expect(runUnit(each, corePolicy(each, createPolicy(id)!)).meanJct).toBeGreaterThanOrEqual(bests[i]! - 1e-9);
  });

  it("and several reach it somewhere, so it is no empty bound", () => {
    const reach = (id: string): number =>
      instances.filter((each, i) => runUnit(each, corePolicy(each, createPolicy(id)!)).meanJct < bests[i]! + 1e-9).length;
    for (const id of ["srpt-w", "kv-index-safe", "lpm-task"]) expect(reach(id)).toBeGreaterThan(0);
  });
});

it("a search gives the figures of its seeds, however it is cut", () => {
  const players = [
    { name: "a", policy: "topas" },
    { name: "b", policy: "task-fcfs", changes: { fit: "over" } as const },
  ];
  const whole = tryInstances(players, 1, 4);
  expect([...tryInstances(players, 1, 1), ...tryInstances(players, 2, 3)]).toEqual(whole);
  for (const { optimum, means } of whole) for (const mean of means) expect(mean).toBeGreaterThanOrEqual(optimum - 1e-9);
});
