import { expect, it } from "vitest";
import { createView } from "../view.ts";
import { mean } from "../reserve/mean.ts";
import { frameKey } from "../frame-key.ts";
import { soonUses } from "../estimate/reuse.ts";
import { admit, arrive, bringIn, fresh, ready, stage } from "../testing/builders.ts";

it("being admitted changes no estimate of the task, only what it uses soon", () => {
  const state = fresh();
  arrive(state, 0, "t", { stages: [stage("a", 2), stage("b", 2)], edges: [["a", "b"]] });
  bringIn(state, 0, "pb", 500, "resident");
  state.agentPrefix.set(frameKey("x", "b"), "prefix:pb");
  ready(state, 0, "seed", { task: "other", stage: "a" });
  ready(state, 0, "r", { task: "t", stage: "a" });
  const task = state.tasks.get("t")!;
  const { revision } = task;
  const soon = (): number => soonUses({ ...createView(state, state.nowSeconds, mean) }).get("prefix:pb") ?? 0;
  admit(state, 0, "seed", 200);
  const before = soon();
  const lengths = createView(state, 0, mean).estimator.remainingAreaTokenSeconds(task);
  admit(state, 1, "r", 200);
  expect(task.revision).toBe(revision);
  expect(createView(state, 1, mean).estimator.remainingAreaTokenSeconds(task)).toBe(lengths);
  expect([before, soon() > 0]).toEqual([0, true]);
});
