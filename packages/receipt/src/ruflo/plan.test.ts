import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGraph } from "../graph-check.ts";
import { makePlan } from "./plan.ts";
import { locate, newRun, receiptOfCall, type Run } from "./run.ts";
import { isTask, stepAfter, waitAfter, type Step } from "./steps.ts";

const LOOP = { max: 4, mean: 2 };

/** Steps of any kind with jumps anywhere, also outside the list and to themselves. */
const anySteps = fc
  .array(
    fc.record({
      type: fc.constantFrom("task", "task", "task", "wait", "condition", "parallel"),
      yes: fc.option(fc.integer({ min: -1, max: 9 }), { nil: undefined }),
      no: fc.option(fc.integer({ min: -1, max: 9 }), { nil: undefined }),
      when: fc.constantFrom("x === 'y'", "true", "nonsense!"),
      agent: fc.constantFrom("a", "b", "c"),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map((drawn) =>
    drawn.map((one, index): Step => ({
      stepId: `step-${index + 1}`,
      name: `${one.type} ${index}`,
      type: one.type,
      config:
        one.type === "condition"
          ? {
              when: one.when,
              ...(one.yes === undefined ? {} : { thenStep: one.yes }),
              ...(one.no === undefined ? {} : { elseStep: one.no }),
            }
          : { agentId: one.agent, ms: 10 },
    })),
  );

const runOf = (steps: readonly Step[]): Run =>
  newRun({
    taskId: "t",
    storedAs: "t",
    workflowId: "w",
    declares: false,
    plan: makePlan(steps, { loop: LOOP }),
    start: 0,
    arrivalMs: 0,
  });

describe("plans", () => {
  it("whatever the steps are and wherever they jump: graphs are sound, every call is located, no path is longer than what follows", () => {
    fc.assert(
      fc.property(anySteps, fc.array(fc.nat({ max: 1 }), { minLength: 40, maxLength: 40 }), (steps, choices) => {
        const run = runOf(steps);
        if (run.plan.graph !== null) expect(checkGraph(run.plan.graph)).toBeNull();
        const left: (number | null)[] = [];
        let at = 0;
        for (const choice of choices) {
          if (at >= steps.length) break;
          if (isTask(steps[at])) {
            expect(locate(run, () => at)).toBe(at);
            const receipt = receiptOfCall(run, at, null, 0);
            expect(receipt.readyStages).toContain(receipt.stage);
            left.push(receipt.remainingPath?.value ?? null);
            if (receipt.final === true) expect(run.plan.after(at)).toEqual([]);
          }
          const next = stepAfter(steps, at);
          at = next[choice % next.length]!;
        }
        const ended = at >= steps.length;
        if (ended) left.forEach((calls, i) => expect(calls).toBeLessThanOrEqual(left.length - i));
      }),
      { numRuns: 300 },
    );
  });

  it("a long chain gets no graph, and its stages all the same", () => {
    const steps = Array.from({ length: 400 }, (_, i): Step => ({
      stepId: `step-${i + 1}`,
      type: "task",
      config: { agentId: "a" },
    }));
    const run = runOf(steps);
    expect(receiptOfCall(run, 0, null, 0)).toMatchObject({
      stage: "step-1",
      agent: "a",
      remainingPath: { value: 400, source: "inferred" },
    });
    expect(run.plan.graph).toBeNull();
  });

  it("names that repeat or do not print fall back to the engine's ids", () => {
    const step = (name: string, index: number): Step => ({ stepId: `step-${index + 1}`, name, type: "task" });
    const plan = makePlan(["same", "same", "über", "own"].map(step), { loop: LOOP });
    expect(plan.stages).toEqual(["step-1", "step-2", "step-3", "own"]);
  });

  it("only waits that surely come are counted", () => {
    const wait: Step = { stepId: "w", type: "wait", config: { ms: 90_000 } };
    const call: Step = { stepId: "c", type: "task" };
    const gate: Step = { stepId: "g", type: "condition", config: { when: "x === 'y'", elseStep: 0 } };
    expect(waitAfter([call, wait, wait, call], 0)).toBe(120_000);
    expect(waitAfter([call, wait, gate, call], 0)).toBe(0);
    expect(waitAfter([call, wait], 0)).toBe(0);
  });
});
