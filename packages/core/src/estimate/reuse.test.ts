import { expect, it } from "vitest";
import { mean } from "../reserve/mean.ts";
import type { State } from "../state.ts";
import { step } from "../step.ts";
import { admit, arrive, fresh, ready, stage } from "../testing/builders.ts";
import { createView } from "../view.ts";
import { nearTermReuse } from "./near-term.ts";
import { soonUses, stepsToUse } from "./reuse.ts";

/** A -> {B, C} -> D, D -> E; every agent has called before, so its prefix is known. */
function workflow(): State {
  const state = fresh({ budgetTokens: 100_000 });
  for (const agent of ["A", "B", "C", "D", "E"]) {
    ready(state, 0, `seen-${agent}`, { stage: agent, prefix: [agent, 100] });
    step(state, { kind: "cancelled", at: 0, request: `seen-${agent}` });
    step(state, { kind: "taskDone", at: 0, task: `task-seen-${agent}` });
  }
  arrive(state, 0, "t", {
    stages: ["A", "B", "C", "D", "E"].map((id) => stage(id, 1)),
    edges: [
      ["A", "B"],
      ["A", "C"],
      ["B", "D"],
      ["C", "D"],
      ["D", "E"],
    ],
  });
  return state;
}

const plain = (map: ReadonlyMap<string, number>): Record<string, number> => Object.fromEntries(map);
const view = (state: State) => createView(state, state.nowSeconds, mean);

it("one hop, half a use per open predecessor, and steps to the nearest use", () => {
  const state = workflow();
  ready(state, 0, "a", { task: "t", stage: "A", prefix: ["A", 100] });
  expect(plain(stepsToUse(view(state)))).toEqual({ "prefix:A": 0, "prefix:B": 1, "prefix:C": 1, "prefix:D": 2, "prefix:E": 3 });
  admit(state, 0, "a", 300);
  expect(plain(nearTermReuse(view(state)))).toEqual({ "prefix:B": 1, "prefix:C": 1 });
  expect(plain(soonUses(view(state)))).toEqual({ "prefix:B": 1, "prefix:C": 1 });
  step(state, { kind: "roundDone", at: 1, request: "a", retainedTokens: 0 });
  ready(state, 1, "b", { task: "t", stage: "B", prefix: ["B", 100] });
  ready(state, 1, "c", { task: "t", stage: "C", prefix: ["C", 100] });
  admit(state, 1, "b", 300);
  expect(plain(nearTermReuse(view(state)))).toEqual({});
  expect(plain(soonUses(view(state)))).toEqual({ "prefix:C": 1, "prefix:D": 0.5 });
  admit(state, 1, "c", 300);
  expect(plain(nearTermReuse(view(state)))).toEqual({ "prefix:D": 1 });
  expect(plain(soonUses(view(state)))).toEqual({ "prefix:D": 1 });
  expect(plain(stepsToUse(view(state)))).toEqual({ "prefix:B": 1, "prefix:C": 1, "prefix:D": 2, "prefix:E": 3 });
});

it("a stage in its tool will call again: one use, one step", () => {
  const state = fresh();
  arrive(state, 0, "t", { stages: [stage("A", 1, { rounds: { max: 4, mean: 2 } })], edges: [] });
  ready(state, 0, "a", { task: "t", stage: "A", prefix: ["A", 100] });
  admit(state, 0, "a", 300);
  expect(plain(soonUses(view(state)))).toEqual({ "prefix:A": 0.5 });
  step(state, { kind: "roundDone", at: 1, request: "a", retainedTokens: 0 });
  expect(plain(soonUses(view(state)))).toEqual({ "prefix:A": 1 });
  expect(plain(stepsToUse(view(state)))).toEqual({ "prefix:A": 1 });
});
