import { describe, expect, it } from "vitest";
import json from "../../profiles/qwen2.5-32b-a100.json" with { type: "json" };
import { parseProfile } from "../model/profile.ts";
import { decodeSeconds, prefillSeconds } from "../model/step-time.ts";
import { simulate } from "../simulate.ts";
import type { SimTask } from "../task.ts";
import { presetNames } from "../workload/catalog.ts";
import { makeWorkload } from "../workload/make-workload.ts";
import type { CallSeconds } from "../workload/capacity.ts";
import { aloneSeconds } from "./alone.ts";
import { runLogOf } from "./from-simulation.ts";
import { measure } from "./metrics.ts";

const profile = parseProfile(json);
const alone: CallSeconds = ({ prefixTokens, historyTokens, promptTokens, outputTokens }) => {
  const context = prefixTokens + historyTokens;
  return prefillSeconds(profile, promptTokens, context) + (outputTokens - 1) * decodeSeconds(profile, 1, context + promptTokens);
};

describe("a simulated run", () => {
  const { agents, tasks, budgetTokens } = makeWorkload("paper-chain3", { seed: 1, tasks: 25 });
  const run = (only: readonly SimTask[]) =>
    runLogOf(
      simulate({
        profile,
        budget: budgetTokens,
        rules: "sglang-0.5.x",
        agents,
        tasks: only,
        record: { gaps: true, log: "full" },
      }),
      {
        agents,
        powerWatts: profile.powerWatts!,
        aloneSeconds: (task) => aloneSeconds(task, agents, alone),
      },
    );

  it("fills every metric the engine can tell", () => {
    const found = measure(run(tasks), { warmupTasks: 5 });
    expect(found).toMatchObject({
      tasks: 20,
      backlogTasks: 0,
      successRate: 1,
      overtakesMax: 0,
      contendedShare: null,
    });
    expect(found.slowdownP99).toBeGreaterThan(1);
    expect(found.jctP99S).toBeGreaterThanOrEqual(found.jctP95S!);
    expect(found.prefixHitRate).toBeGreaterThan(0.5);
    for (const share of [found.prefixHitRate, found.promptHitRate, found.kvOccupancy, found.pinnedShare]) {
      expect(share).toBeGreaterThan(0);
      expect(share).toBeLessThanOrEqual(1);
    }
    expect(found.energyJ! / 3_600_000).toBeLessThan(found.gpuHours * 0.4);
    expect(found.gpuBusyHours).toBeLessThanOrEqual(found.gpuHours);
  });

  it("a task alone takes about its longest path: slowdown near 1", () => {
    const [, , , last] = tasks;
    const { slowdownP99 } = measure(run([last!]));
    expect(slowdownP99).toBeGreaterThan(1);
    expect(slowdownP99).toBeLessThan(1.35);
  });
});

describe("every workload runs on a stock engine", () => {
  it.each(presetNames())("%s", (name) => {
    const made = makeWorkload(name, { seed: 1, tasks: 3 });
    const result = simulate({
      profile,
      budget: made.budgetTokens,
      rules: "sglang-0.5.x",
      agents: made.agents,
      tasks: made.tasks,
    });
    expect(result.tasks.length).toBe(3);
    expect(result.calls.length).toBe(
      made.tasks.reduce((sum, { stages }) => sum + stages.reduce((calls, { rounds }) => calls + rounds.length, 0), 0),
    );
  });
});

describe("a run that is stopped", () => {
  const { agents, tasks, budgetTokens } = makeWorkload("paper-chain3", { seed: 1, tasks: 25 });
  const base = { profile, budget: budgetTokens, agents, tasks, record: { gaps: true, log: "full" } } as const;
  const cases = [
    { rules: "sglang-0.5.x" },
    { rules: "vllm-0.11", policy: "passthrough" },
    { rules: "joint", policy: "topas", rulesOptions: { hostTier: "pcie" } },
  ] as const;

  it.each(cases)("says what is open and keeps the survivors' times to itself: $rules", (rules) => {
    const whole = simulate({ ...base, ...rules });
    expect([whole.stopped, whole.openTasks.length, whole.openCalls.length]).toEqual([false, 0, 0]);
    const half = simulate({ ...base, ...rules, horizonSeconds: whole.endSeconds / 2 });
    expect([half.stopped, half.endSeconds]).toEqual([true, whole.endSeconds / 2]);
    expect(half.tasks.length + half.openTasks.length).toBe(tasks.length);
    expect(half.openCalls.some(({ admittedSeconds }) => admittedSeconds !== null)).toBe(true);
    const found = measure(runLogOf(half, { agents }));
    expect([found.backlogTasks, found.jctMeanS]).toEqual([half.openTasks.length, null]);
    expect(found.backlogTasks).toBeGreaterThan(0);
  });

  it("a policy's decisions say how many left something waiting, and copies how long they took", () => {
    const found = measure(runLogOf(simulate({ ...base, ...cases[2] }), { agents, powerWatts: profile.powerWatts! }));
    expect(found.contendedShare).toBeGreaterThan(0);
    expect(found.contendedShare).toBeLessThanOrEqual(1);
    expect(found.pinnedPrefixShare!.reduce((a, b) => a + b)).toBeCloseTo(1, 9);
    expect(found.prefixMoveS! * profile.transfer.hostToDeviceBytesPerSecond).toBeGreaterThan(found.prefixMovedBytes!);
    expect(measure(runLogOf(simulate({ ...base, ...cases[1] }), { agents })).contendedShare).toBeNull();
  });
});
