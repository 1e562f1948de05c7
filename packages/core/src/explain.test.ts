import { describe, expect, it } from "vitest";
import { decide } from "./decide.ts";
import type { Why } from "./events.ts";
import { explainWaiting } from "./explain.ts";
import { step } from "./step.ts";
import { arrive, fresh, policy, ready, stage } from "./testing/builders.ts";

const candidates = (why: readonly Why[]) =>
  Object.fromEntries(why.flatMap((one) => ("candidate" in one ? [[one.candidate, one]] : [])));

describe("explanations", () => {
  function crowded() {
    const state = fresh({ budgetTokens: 2_000, redo: "redecode" });
    arrive(state, 0, "first", { stages: [stage("s", 9)], edges: [] });
    arrive(state, 0, "second", { stages: [stage("s", 8)], edges: [] });
    arrive(state, 0, "third", { stages: [stage("s", 7)], edges: [] });
    for (const task of ["first", "second", "third"])
      ready(state, 0, task, { task, stage: "s", prefix: [`p-${task}`, 900], own: 100, output: 100, max: 100 });
    return state;
  }

  it("name the terms of what was chosen, of doing nothing and of the best other plan, in seconds", () => {
    const decision = decide(crowded(), policy("topas"), 1);
    const { chosen, noop, runnerUp } = candidates(decision.why);
    expect(decision.admit.map(({ request }) => request)).toEqual(["first"]);
    expect(chosen!.terms.admit).toBeCloseTo(decision.admit[0]!.creditSeconds, 9);
    expect(noop).toMatchObject({ totalSeconds: 0, terms: { admit: 0, move: 0, redo: 0, revoke: 0 } });
    expect(chosen!.totalSeconds).toBeGreaterThan(runnerUp!.totalSeconds);
    expect(runnerUp!.terms.admit).toBeGreaterThan(0);
  });

  it("say what a waiting request waits for, when it is expected to fit, and who overtook it", () => {
    const state = crowded();
    const topas = policy("topas");
    step(state, { kind: "committed", at: 1, decision: decide(state, topas, 1) });
    const third = explainWaiting(state, topas, "third", 3)!;
    expect(third).toMatchObject({
      reason: "didNotFit",
      costTokens: 1_100,
      roomTokens: 900,
      missingTokens: 200,
      waitedSeconds: 3,
    });
    expect(third.fitsInSeconds).toBeCloseTo(100 * 0.05, 9);
    expect(third.gainSeconds).toBeGreaterThan(7);
    expect(third.history.overtakenBy).toEqual([]);
    ready(state, 3, "late", { own: 100, output: 100, max: 100 });
    step(state, { kind: "committed", at: 3, decision: decide(state, policy("lpm-task-o"), 3) });
    expect(explainWaiting(state, topas, "third", 4)!.history.overtakenBy).toEqual(["late"]);
    expect(explainWaiting(state, topas, "late", 4)).toBeNull();
  });
});
