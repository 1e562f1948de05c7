import fc from "fast-check";
import { expect, test } from "vitest";
import { readProfile } from "../bench/read-profile.ts";
import { aloneSeconds } from "./metrics/alone.ts";
import { decodeSeconds } from "./model/step-time.ts";
import type { SimConfig } from "./sim-config.ts";
import { simulate } from "./simulate.ts";
import { randomTasks } from "./testing/workloads.ts";
import { makeWorkload } from "./workload/make-workload.ts";

const profile = readProfile("qwen2.5-32b-a100");
const arms: Pick<SimConfig, "rules" | "policy" | "rulesOptions">[] = [
  { rules: "sglang-0.5.x" },
  { rules: "vllm-0.11" },
  { rules: "joint", policy: "fcfs-o" },
  { rules: "joint", policy: "topas", rulesOptions: { hostTier: "pcie" } },
  { rules: "joint", policy: "topas-guarded", rulesOptions: { mixedSteps: true } },
];

test.each(arms)("no task is quicker than its longest path on an empty machine with every prefix found: $rules $policy", (arm) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1_500, max: 8_000 }), (seed, budget) => {
      const load = randomTasks(seed, 8, 2);
      const result = simulate({ profile, budget, ...arm, ...load, record: { log: "none" } });
      // Alone, a call needs a prefill of one step at least and then a step for each further token.
      const alone = ({ outputTokens }: { readonly outputTokens: number }): number => outputTokens * decodeSeconds(profile, 1, 0);
      for (const { task, arrivalSeconds, doneSeconds } of result.tasks)
        expect(doneSeconds - arrivalSeconds).toBeGreaterThanOrEqual(aloneSeconds(task, load.agents, alone) * (1 - 1e-9));
    }),
    { numRuns: 5, seed: 3 },
  );
});

test("work is conserved across preemptions: a call that was never preempted redid nothing, and every token is given once", () => {
  for (const arm of arms) {
    const load = randomTasks(9, 25, 4);
    const config = { profile, budget: 1_500, ...arm, ...load, record: { log: "none", gaps: true } } as const;
    const { calls, recorder } = simulate(config);
    for (const call of calls) if (call.preemptions === 0) expect(call.redoneTokens).toBe(0);
    const gaps = recorder.gapCounts.reduce((sum, count) => sum + count, 0);
    expect(gaps).toBe(calls.reduce((sum, { outputTokens }) => sum + outputTokens - 1, 0));
  }
});

test("one seed: two policies see the same arrivals, lengths and waits", () => {
  const make = () => makeWorkload("supervisor-specialist", { seed: 5, tasks: 8, ratePerSecond: 0.05 });
  const seen = arms.map((arm) => {
    const { agents, tasks, budgetTokens } = make();
    const { calls, tasks: done } = simulate({ profile, budget: budgetTokens, ...arm, agents, tasks, record: { log: "none" } });
    const sizes = calls.map(({ id, promptTokens, outputTokens }) => `${id} ${promptTokens} ${outputTokens}`);
    const arrivals = done.map(({ task, arrivalSeconds }) => `${task.id} ${arrivalSeconds}`);
    return [sizes.toSorted(), arrivals.toSorted()];
  });
  for (const each of seen) expect(each).toEqual(seen[0]);
  const waits = (): number[] =>
    make().tasks.flatMap(({ stages }) => stages.flatMap(({ rounds }) => rounds.map(({ toolWaitSeconds }) => toolWaitSeconds)));
  expect(waits()).toEqual(waits());
});

test("one knob leaves the draws of the others alone", () => {
  const arrivals = (request: Parameters<typeof makeWorkload>[1]) =>
    makeWorkload("paper-sop-cv7", request).tasks.map(({ arrivalSeconds }) => arrivalSeconds);
  const base = { seed: 2, tasks: 30, ratePerSecond: 0.1 };
  expect(arrivals({ ...base, options: { outputCv: 0.1 } })).toEqual(arrivals(base));
});
